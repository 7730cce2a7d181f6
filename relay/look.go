package relay

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

const (
	// By (state, seq, partition_no), in order and without a sort.
	lookPending = `SELECT ` + eventColumns + `
FROM {events}{use_pending} WHERE state = 0 ORDER BY seq LIMIT ?`

	// The same, beside what is in hand, which is filtered by the index alone.
	lookBeside = `SELECT ` + eventColumns + `
FROM {events}{use_pending} WHERE state = 0 AND seq NOT IN ({list}) ORDER BY seq LIMIT ?`

	// Each from the first or last entry of an index: constant cost, whatever is pending, kept or scheduled.
	probe = `SELECT (SELECT MIN(due_ms) FROM {events}{use_due} WHERE state = 0),
       (SELECT MIN(due_ms) FROM {events}{use_due} WHERE state = 3), {clock}`

	oldestDead = `SELECT MIN(seq) FROM {events}{use_pending} WHERE state = 2`

	// Scheduled events whose time has come become pending, by (state, due_ms, seq).
	dueScheduled = `SELECT seq FROM {events}{use_due} WHERE state = 3 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?{lock_skip}`
	promote      = `{update_events} SET state = 0 WHERE seq IN ({list}) AND state = 3`
	// A writer of plain SQL may have set due_ms alone; a delayed event that was never tried holds nobody up.
	park = `{update_events} SET state = 3 WHERE seq IN ({list}) AND state = 0 AND attempts = 0`
)

// signs is what a probe saw: how long until the first pending and the first scheduled event are due; negative wait
// means now, and never is a long time.
type signs struct {
	pending, scheduled time.Duration
}

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
	s.probed = r.now().mono
	var pending, scheduled sql.NullInt64
	var now int64
	if err := queryRow(ctx, r.db, r.sql.SQL(probe), nil, &pending, &scheduled, &now); err != nil {
		return signs{}, fmt.Errorf("probe: %w", err)
	}
	until := func(due sql.NullInt64) time.Duration {
		if !due.Valid {
			return never
		}
		return untilMillis(due.Int64, now)
	}
	saw := signs{until(pending), until(scheduled)}
	if saw.scheduled <= 0 {
		if err := r.promote(ctx, now); err != nil {
			return signs{}, fmt.Errorf("promote scheduled: %w", err)
		}
		saw.pending, saw.scheduled = 0, 0 // look, and probe again soon
	}
	return saw, nil
}

// probeSometimes probes once a poll interval, so that scheduled events become pending under load too.
func (s *session) probeSometimes(ctx context.Context) error {
	if s.probed != 0 && s.r.now().mono-s.probed < s.r.opts.Poll {
		return nil
	}
	_, err := s.probeNow(ctx)
	return err
}

// promote makes scheduled events pending that are due at now, in small steps.
func (r *Relay) promote(ctx context.Context, now int64) error {
	for {
		n := 0
		err := txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
			seqs, err := r.querySeqs(ctx, tx, dueScheduled, now, int64(maxBatch/2))
			n = len(seqs)
			if err != nil || n == 0 {
				return err
			}
			return r.execList(ctx, tx, promote, seqs)
		})
		if err != nil || n < maxBatch/2 {
			return err
		}
	}
}

func (r *Relay) querySeqs(ctx context.Context, q queryer, statement string, args ...any) ([]int64, error) {
	rows, err := q.QueryContext(ctx, r.sql.SQL(statement), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var seqs []int64
	for rows.Next() {
		var s int64
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		seqs = append(seqs, s)
	}
	return seqs, rows.Err()
}

// readTotal reads the next events in the order of the whole outbox: what stands before the first that must wait. wait
// is how long that one has to, if it is at the head. It reads from the beginning of what is pending but for what is in
// hand, so that what committed late or was requeued is overtaken by nothing else. more means that there was no room for all.
func (r *Relay) readTotal(ctx context.Context, tx dialect.Tx, inHand []int64, room int) (batch []*event, more bool, wait time.Duration, err error) {
	var rows *sql.Rows
	if len(inHand) == 0 {
		rows, err = tx.QueryContext(ctx, r.sql.SQL(lookPending), int64(room))
	} else {
		rows, err = r.queryList(ctx, tx, lookBeside, inHand, int64(room))
	}
	if err != nil {
		return nil, false, never, fmt.Errorf("read pending: %w", err)
	}
	events, cut, err := r.readEvents(rows)
	if err != nil || len(events) == 0 {
		return nil, false, never, err
	}
	more = cut || len(events) == room
	if r.opts.OnDead == HoldKey {
		if events, err = r.beforeDead(ctx, tx, events); err != nil || len(events) == 0 {
			return nil, false, r.opts.PollMax, err // held: only an operator's Requeue or Discard changes that
		}
	}
	batch, early, wait := sortOut(events)
	if len(early) > 0 {
		if err := r.execList(ctx, tx, park, early); err != nil {
			return nil, false, never, fmt.Errorf("park delayed: %w", err)
		}
	}
	return batch, more && len(batch)+len(early) == len(events), wait, nil
}

// sortOut cuts events before the first that failed and is not due yet, and takes out those that are not due and were
// never tried.
func sortOut(events []*event) (batch []*event, early []int64, wait time.Duration) {
	for _, e := range events {
		switch {
		case e.wait() <= 0, e.neverDelayed():
			batch = append(batch, e)
		case e.msg.Attempt == 1:
			early = append(early, e.msg.Seq)
		case len(batch) == 0:
			return nil, early, e.wait()
		default:
			return batch, early, never
		}
	}
	return batch, early, never
}

// beforeDead cuts events at the first dead letter, which holds all that is behind it.
func (r *Relay) beforeDead(ctx context.Context, tx dialect.Tx, events []*event) ([]*event, error) {
	var first sql.NullInt64
	if err := queryRow(ctx, tx, r.sql.SQL(oldestDead), nil, &first); err != nil {
		return nil, fmt.Errorf("find dead letters: %w", err)
	}
	if !first.Valid {
		return events, nil
	}
	i := slices.IndexFunc(events, func(e *event) bool { return e.msg.Seq > first.Int64 })
	if i < 0 {
		return events, nil
	}
	return events[:i], nil
}
