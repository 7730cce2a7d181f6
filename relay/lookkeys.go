package relay

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

const (
	// All that an idle relay asks, in one statement. Of events: each from the first entry of an index that will do, whatever
	// is pending, kept, held or scheduled (see probe); of relays and leases: a handful of rows. "+ 0" has PostgreSQL go by
	// (state, seq) alone, in order: where it expects little in few partitions, it would read and sort all that they have.
	probeKeys = `SELECT (SELECT seq FROM {events}{use_pending} WHERE state <= 0 AND partition_no + 0 IN ({list}) ORDER BY state, seq LIMIT 1),
       (SELECT due_ms FROM {events}{use_due} WHERE state = 3 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM {events}{use_due} WHERE state = 5 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM {events}{use_due} WHERE state = 6 ORDER BY due_ms, seq LIMIT 1),
       (SELECT COUNT(*) FROM {relays} WHERE order_name = '` + owners.PerKey + `'),
       (SELECT COUNT(*) FROM {relays} WHERE order_name = '` + owners.PerKey + `' AND id < ?),
       (SELECT COUNT(*) FROM {relays} WHERE ` + owners.NoCrash + ` AND id <> ? AND ` + owners.Over + `),
       (SELECT COUNT(*) FROM {leases} WHERE name LIKE '` + owners.Partition + `%'),
       (SELECT COUNT(*) FROM {leases} WHERE name LIKE '` + owners.Partition + `%' AND ` + ownerless + `),
       (SELECT COUNT(*) FROM {pauses}), {clock}`
)

// staleTime is what a look spends on holders, if there are many.
const staleTime = 20 * time.Millisecond

// lookAround finds out whether there is work, and what else has changed: relays that came, went or fell, pauses, events
// that have become due, keys that nothing holds any more.
func (s *keySource) lookAround(ctx context.Context) (signs, error) {
	ctx, cancel := s.r.bounded(ctx)
	defer cancel()
	for {
		saw, fallen, err := s.probeKeys(ctx)
		if err != nil {
			return signs{}, fmt.Errorf("look around: %w", err)
		}
		if !fallen || s.isLost() {
			return saw, nil
		}
		if err := s.r.removeFallen(ctx); err != nil {
			return signs{}, fmt.Errorf("look for fallen relays: %w", err)
		}
	}
}

func (s *keySource) probeKeys(ctx context.Context) (saw signs, fallen bool, err error) {
	r := s.r
	from := r.now().Mono
	s.leftDue = false
	var ready, scheduled, waiting, paused sql.NullInt64
	var relays, before, over, known, free, pauses int
	var now int64
	partitions := sqltext.FilledUp(s.readable())
	err = rows.One(ctx, r.db, r.sql.List(probeKeys, len(partitions)), append(partitions, s.id, s.id),
		&ready, &scheduled, &waiting, &paused, &relays, &before, &over, &known, &free, &pauses, &now)
	if err != nil {
		return signs{}, false, err
	}
	if err := s.readPauses(ctx, pauses, from); err != nil {
		return signs{}, false, err
	}
	if over > 0 {
		return signs{}, true, nil
	}
	had := len(s.partitions)
	if err := s.balance(ctx, share(relays, before), free, known); err != nil {
		return signs{}, false, err
	}
	if err := s.findHolders(ctx); err != nil {
		return signs{}, false, fmt.Errorf("look for what holds keys: %w", err)
	}
	due, err := s.tend(ctx, now, untilDue(scheduled, now) <= 0, untilDue(waiting, now) <= 0, paused.Valid)
	if err != nil {
		return signs{}, false, err
	}
	saw = signs{never, min(untilDue(scheduled, now), untilDue(waiting, now))}
	switch {
	case len(s.leaving) > 0, len(s.stale) > 0, len(s.fresh) > 0, len(s.partitions) > had, due > 0:
		saw = signs{0, 0}
	case ready.Valid && !s.pauses.all() && len(s.partitions) > len(s.leaving):
		saw.pending = 0
	}
	return saw, false, nil
}

// readable are the partitions that the relay reads, and -1.
func (s *keySource) readable() []int64 {
	partitions := []int64{-1}
	for p := range s.partitions {
		if !s.leaving[p] && !s.fresh[p] {
			partitions = append(partitions, p)
		}
	}
	return partitions
}

// tend makes pending what has waited long enough, and answers how many that were; and it looks for holders that hold nothing any
// more.
func (s *keySource) tend(ctx context.Context, now int64, scheduled, waiting, paused bool) (due int, err error) {
	r := s.r
	if scheduled {
		if due, err = s.makePending(ctx, dueScheduled, now, promote); err != nil {
			return due, fmt.Errorf("promote scheduled: %w", err)
		}
	}
	if waiting {
		n, err := s.makePending(ctx, dueWaiting, now, retry)
		if err != nil {
			return due, fmt.Errorf("make waiting pending: %w", err)
		}
		due += n
	}
	if paused && !s.pauses.all() {
		if err := s.resume(ctx); err != nil {
			return due, fmt.Errorf("resume paused: %w", err)
		}
	}
	if s.fitted == 0 || r.now().Mono-s.fitted > r.opts.PurgeEvery {
		if err := s.fit(ctx); err != nil {
			return due, fmt.Errorf("look for misfits: %w", err)
		}
		s.fitted = r.now().Mono
	}
	if !s.mayHold {
		return due, nil
	}
	for from := r.now().Mono; ; { // a page, or more if that is quick
		if err := s.findStale(ctx); err != nil {
			return due, fmt.Errorf("look at held keys: %w", err)
		}
		if s.heldTo == 0 || len(s.stale) > 0 || r.now().Mono-from > staleTime {
			return due, nil
		}
	}
}
