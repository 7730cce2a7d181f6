package outbox

import (
	"context"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// Both change rows by primary key, in ascending order, so that they take locks in the same order as the relay and
// purge; "state = 2" makes one of several operators win each row.
const (
	// Back to pending in its old place: seq stays. total_attempts stays above attempts, which is how a hand-over knows
	// that the event was requeued.
	requeueSeqs = `{update_events}
SET state = 0, attempts = 0, first_failed_ms = 0, settled_ms = 0, claimed_by = '', due_ms = {clock}
WHERE seq IN ({list}) AND state = 2`

	discardSeqs = `{delete_events} WHERE seq IN ({list}) AND state = 2`

	// By the unique id.
	seqsOfIDs = `SELECT seq FROM {events} WHERE id IN ({list}) AND state = 2 ORDER BY seq`
)

// stepRows is how many rows one step changes: few enough to commit in milliseconds.
const stepRows = 500

// Requeue puts dead letters back, each in its old place: an ordered relay publishes it before anything newer that is
// still pending, but for what is in hand at that moment. Attempts start again from 0; TotalAttempts stays. Ids that are not dead letters are left alone, so
// concurrent calls with the same ids add up to each event once. It answers how many were put back, also beside an
// error: steps of 500 commit by themselves.
func (o *Outbox) Requeue(ctx context.Context, ids ...string) (int, error) {
	n, err := o.changeIDs(ctx, requeueSeqs, ids)
	if n > 0 {
		o.Wake()
	}
	if err != nil {
		return n, fmt.Errorf("requeue: %w", err)
	}
	return n, nil
}

// Discard deletes dead letters for good. Otherwise it is like Requeue.
func (o *Outbox) Discard(ctx context.Context, ids ...string) (int, error) {
	n, err := o.changeIDs(ctx, discardSeqs, ids)
	if n > 0 {
		o.Wake() // what a dead letter held back may go on
	}
	if err != nil {
		return n, fmt.Errorf("discard: %w", err)
	}
	return n, nil
}

// RequeueMatching requeues all dead letters that match q, or the oldest q.Limit of them, in steps of 500.
func (o *Outbox) RequeueMatching(ctx context.Context, q DeadLetterQuery) (int, error) {
	n, err := o.changeMatching(ctx, requeueSeqs, q)
	if n > 0 {
		o.Wake()
	}
	if err != nil {
		return n, fmt.Errorf("requeue matching: %w", err)
	}
	return n, nil
}

// DiscardMatching deletes all dead letters that match q, or the oldest q.Limit of them, in steps of 500.
func (o *Outbox) DiscardMatching(ctx context.Context, q DeadLetterQuery) (int, error) {
	n, err := o.changeMatching(ctx, discardSeqs, q)
	if n > 0 {
		o.Wake()
	}
	if err != nil {
		return n, fmt.Errorf("discard matching: %w", err)
	}
	return n, nil
}

func (o *Outbox) changeIDs(ctx context.Context, change string, ids []string) (int, error) {
	changed := 0
	for len(ids) > 0 {
		step := ids[:min(len(ids), stepRows)]
		ids = ids[len(step):]
		args := make([]any, len(step))
		for i, id := range step {
			if badText(id, MaxIDLen) != "" {
				return changed, fmt.Errorf("id %q %s", id, badText(id, MaxIDLen))
			}
			args[i] = id
		}
		n := 0
		err := txn.Run(ctx, o.db, o.dialect, func(tx dialect.Tx) error {
			seqs, err := querySeqs(ctx, tx, o.sql.List(seqsOfIDs, len(args)), args...)
			if err != nil {
				return err
			}
			n, err = o.changeSeqs(ctx, tx, change, seqs)
			return err
		})
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

func (o *Outbox) changeMatching(ctx context.Context, change string, q DeadLetterQuery) (int, error) {
	if err := q.validate(); err != nil {
		return 0, err
	}
	changed, after := 0, q.After
	for q.Limit == 0 || changed < q.Limit {
		limit := stepRows
		if q.Limit > 0 {
			limit = min(limit, q.Limit-changed)
		}
		text, args := q.statement(deadSeqs, after, limit)
		n, last := 0, after
		err := txn.Run(ctx, o.db, o.dialect, func(tx dialect.Tx) error {
			seqs, err := querySeqs(ctx, tx, o.sql.SQL(text), args...)
			if err != nil || len(seqs) == 0 {
				return err
			}
			last = seqs[len(seqs)-1]
			n, err = o.changeSeqs(ctx, tx, change, seqs)
			return err
		})
		if err != nil {
			return changed, err
		}
		if last == after {
			break
		}
		changed, after = changed+n, last
	}
	return changed, nil
}

// changeSeqs runs a statement over rows by primary key and answers how many it changed.
func (o *Outbox) changeSeqs(ctx context.Context, tx dialect.Execer, change string, seqs []int64) (int, error) {
	if len(seqs) == 0 {
		return 0, nil
	}
	args := make([]any, len(seqs))
	for i, s := range seqs {
		args[i] = s
	}
	res, err := tx.ExecContext(ctx, o.sql.List(change, len(seqs)), args...)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}
