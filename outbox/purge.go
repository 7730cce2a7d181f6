package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// PurgeOptions say what Purge deletes: only what was settled longer ago than the age given, by the database's clock.
type PurgeOptions struct {
	Published time.Duration // age of published events to delete; 0: none
	Dead      time.Duration // age of dead letters to delete; 0: none
}

// due_ms of a settled event is when it was settled, so that (state, due_ms, seq) serves purge as well.
const (
	oldPublished   = `SELECT seq FROM {events}{use_due} WHERE state = 1 AND due_ms < ? ORDER BY due_ms, seq LIMIT ?{lock_skip}`
	purgePublished = `{delete_events} WHERE seq IN ({list}) AND state = 1`
	oldDead        = `SELECT seq FROM {events}{use_due} WHERE state = 2 AND due_ms < ? ORDER BY due_ms, seq LIMIT ?{lock_skip}`
	purgeDead      = discardSeqs
)

// purgePause lets writers in between two steps.
const purgePause = 5 * time.Millisecond

// Purge deletes settled events in steps of at most 500 that commit by themselves and lock nothing but the rows they
// delete. Several may run at once. It answers how many were deleted, also beside an error. A relay with Retention
// calls it; without a relay a host may.
func (o *Outbox) Purge(ctx context.Context, opts PurgeOptions) (int, error) {
	if opts.Published < 0 || opts.Dead < 0 {
		return 0, fmt.Errorf("purge: %w: ages must not be negative", ErrInvalidOptions)
	}
	now, err := o.Clock(ctx)
	if err != nil {
		return 0, fmt.Errorf("purge: %w", err)
	}
	total := 0
	for _, p := range []struct {
		age        time.Duration
		find, drop string
	}{
		{opts.Published, oldPublished, purgePublished},
		{opts.Dead, oldDead, purgeDead},
	} {
		if p.age == 0 {
			continue
		}
		n, err := o.purge(ctx, p.find, p.drop, now.Add(-p.age).UnixMilli())
		total += n
		if err != nil {
			return total, fmt.Errorf("purge: %w", err)
		}
	}
	return total, nil
}

func (o *Outbox) purge(ctx context.Context, find, drop string, before int64) (int, error) {
	total, step := 0, stepRows
	for {
		found, deleted := 0, 0
		err := txn.Once(ctx, o.db, o.dialect, func(tx dialect.Tx) error {
			seqs, err := querySeqs(ctx, tx, o.sql.SQL(find), before, int64(step))
			if err != nil {
				return err
			}
			found = len(seqs)
			deleted, err = o.changeSeqs(ctx, tx, drop, sorted(seqs))
			return err
		})
		switch {
		case err == nil:
			total += deleted
			if found < step {
				return total, nil
			}
		case o.dialect.Classify(err) == dialect.Conflict && step > 1 && !txn.IsUnknown(err):
			step /= 2 // a statement time-out: smaller steps get through
		default:
			return total, err
		}
		timer := time.NewTimer(purgePause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return total, ctx.Err()
		case <-timer.C:
		}
	}
}
