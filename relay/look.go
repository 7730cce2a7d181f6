package relay

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/rows"
)

const (
	// By (state, seq, partition_no), in order and without a sort. Nothing is below 0: with "state = 0" PostgreSQL leaves
	// state out of the order, and then takes the primary key for it, past all that is published.
	// {aside}: but for what is in hand.
	lookPending = `SELECT ` + eventColumns + `
FROM {events}{use_pending} WHERE state <= 0{aside} ORDER BY state, seq LIMIT ?`

	// Each from the first entry of an index: constant cost, whatever is pending, kept or scheduled. For MIN PostgreSQL reads
	// all of a state (50 ms for 100,000) of which its statistics know nothing.
	probe = `SELECT (SELECT due_ms FROM {events}{use_due} WHERE state = 0 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM {events}{use_due} WHERE state = 3 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM {events}{use_due} WHERE state = 6 ORDER BY due_ms, seq LIMIT 1),
       (SELECT COUNT(*) FROM {pauses}), {clock}`

	// The first entry of (state, seq, partition_no), with state in the order as above.
	firstPending = `SELECT seq, attempts, due_ms, {clock} FROM {events}{use_pending} WHERE state <= 0 ORDER BY state, seq LIMIT 1`
	oldestDead   = `SELECT seq FROM {events}{use_pending} WHERE state > 1 AND state < 3 ORDER BY state, seq LIMIT 1`

	// Scheduled events whose time has come become pending, by (state, due_ms, seq).
	dueScheduled = `SELECT seq FROM {events}{use_due} WHERE state = 3 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?{lock_skip}`
	promote      = `{update_events} SET state = 0 WHERE seq IN ({list}) AND state = 3`
	// The same for those that failed and have waited long enough.
	dueWaiting = `SELECT seq FROM {events}{use_due} WHERE state = 5 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?{lock_skip}`
	retry      = `{update_events} SET state = 0 WHERE seq IN ({list}) AND state = 5`
	// A writer of plain SQL may have set due_ms alone; a delayed event that was never tried holds nobody up.
	park = `{update_events} SET state = 3 WHERE seq IN ({list}) AND state = 0 AND attempts = 0`
)

// signs is what a probe saw: how long until the first pending and the first scheduled event are due; negative wait
// means now, and never is a long time. What is scheduled and due was locked by another, or it would be pending.
type signs struct {
	pending, scheduled time.Duration
}

// due reports whether anything is.
func (s signs) due() bool { return min(s.pending, s.scheduled) <= 0 }

const never = time.Duration(1<<63 - 1)

// untilMillis is the time from now to due, in ms of the database's clock. A writer of plain SQL may put any number there.
func untilMillis(due, now int64) time.Duration {
	const most = int64(never / time.Millisecond)
	switch d := due - now; {
	case due > now && (d < 0 || d > most):
		return never - 1
	case due < now && (d > 0 || d < -most):
		return -never
	default:
		return time.Duration(d) * time.Millisecond
	}
}

// probeNow costs one statement, and so is all that an idle relay does.
func (s *session) probeNow(ctx context.Context) (signs, error) {
	r := s.r
	ctx, cancel := r.bounded(ctx)
	defer cancel()
	from := r.now().Mono
	s.leftDue = false
	var pending, scheduled, paused sql.NullInt64
	var pauses int
	var now int64
	if err := rows.One(ctx, r.db, r.sql.SQL(probe), nil, &pending, &scheduled, &paused, &pauses, &now); err != nil {
		return signs{}, fmt.Errorf("probe: %w", err)
	}
	if err := s.readPauses(ctx, pauses, from); err != nil {
		return signs{}, err
	}
	saw := signs{untilDue(pending, now), untilDue(scheduled, now)}
	if s.pauses.all() || s.pauses.any() && r.opts.Order == OrderTotal {
		return signs{never, never}, nil // what comes due meanwhile keeps its place, and is promoted with the first look after
	}
	if paused.Valid {
		if err := s.resume(ctx); err != nil {
			return signs{}, fmt.Errorf("resume paused: %w", err)
		}
	}
	if saw.scheduled <= 0 {
		n, err := s.makePending(ctx, dueScheduled, now, promote)
		if err != nil {
			return signs{}, fmt.Errorf("promote scheduled: %w", err)
		}
		if n > 0 {
			saw.pending, saw.scheduled = 0, 0 // look, and probe again soon
		}
	}
	return saw, nil
}

func untilDue(due sql.NullInt64, now int64) time.Duration {
	if !due.Valid {
		return never
	}
	return untilMillis(due.Int64, now)
}

// lookSometimes looks once a poll interval, so that scheduled events become pending under load too.
func (s *session) lookSometimes(ctx context.Context) error {
	if s.looked != 0 && s.r.now().Mono-s.looked < s.r.opts.Poll {
		return nil
	}
	_, err := s.look(ctx)
	if err != nil {
		s.leftDue = false // who looks again waits before
	}
	return err
}

// makePending changes what find finds due at now, in small steps, or some of it, and answers how many that were.
func (s *session) makePending(ctx context.Context, find string, now int64, change string) (int, error) {
	n, more, err := s.r.someSteps(ctx, find, []any{now}, change)
	s.leftDue = s.leftDue || more
	return n, err
}

// leftBehind tells once that the last look has made only some of what is due pending, and has the next look begin at once.
func (s *session) leftBehind() bool {
	behind := s.leftDue
	if behind {
		s.leftDue, s.looked = false, 0
	}
	return behind
}
