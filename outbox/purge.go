package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// PurgeOptions say what Purge deletes: only what was settled longer ago than the age given, by the database's clock.
type PurgeOptions struct {
	Published time.Duration // age of published events to delete; 0: none
	Dead      time.Duration // age of dead letters to delete; 0: none
}

func (o *PurgeOptions) validate() error {
	switch {
	case o.Published < 0:
		return fmt.Errorf("%w: Published %v: must not be negative", ErrInvalidOptions, o.Published)
	case o.Dead < 0:
		return fmt.Errorf("%w: Dead %v: must not be negative", ErrInvalidOptions, o.Dead)
	}
	return nil
}

// due_ms of a settled event is when it was settled, so that (state, due_ms, seq) serves purge as well.
const (
	oldPublished   = `SELECT seq, feed_seq FROM {events}{use_due} WHERE state = 1 AND due_ms < ? ORDER BY due_ms, seq LIMIT ?{lock_skip}`
	purgePublished = `{delete_events} WHERE seq IN ({list}) AND state = 1`
	oldDead        = `SELECT seq, feed_seq FROM {events}{use_due} WHERE state = 2 AND due_ms < ? ORDER BY due_ms, seq LIMIT ?{lock_skip}`
)

// stepPause lets writers in between two steps.
const stepPause = 5 * time.Millisecond

// Purge deletes settled events in steps of at most 500 that commit by themselves and lock nothing but the rows they
// delete. Several may run at once. It answers how many were deleted, also beside an error. A relay with Retention
// calls it; without a relay a host may.
func (o *Outbox) Purge(ctx context.Context, opts PurgeOptions) (int, error) {
	if err := opts.validate(); err != nil {
		return 0, fmt.Errorf("purge: %w", err)
	}
	var now, head int64
	if err := rows.One(ctx, o.db, o.sql.SQL(purgeBegins), nil, &now, &head); err != nil {
		return 0, fmt.Errorf("purge: %w", err)
	}
	total, kept := 0, int64(1) // numbers from here on are in a feed, which may be turned on meanwhile
	if opts.Published > 0 && head >= 0 {
		n, first, err := o.Feed().purge(ctx, now-opts.Published.Milliseconds())
		if total, kept = n, first; err != nil {
			return total, fmt.Errorf("purge feed: %w", err)
		}
	}
	for _, p := range []struct {
		age  time.Duration
		find string
		drop dropping
	}{
		{opts.Published, oldPublished, func(ctx context.Context, tx dialect.Tx, old seqNumbers) (int, int, error) {
			return o.dropPublished(ctx, tx, old.below(kept))
		}},
		{opts.Dead, oldDead, func(ctx context.Context, tx dialect.Tx, old seqNumbers) (int, int, error) {
			n, err := o.dropDead(ctx, tx, old)
			return len(old), n, err
		}},
	} {
		if p.age == 0 {
			continue
		}
		n, err := o.purge(ctx, p.find, now-p.age.Milliseconds(), p.drop)
		total += n
		if err != nil {
			return total, fmt.Errorf("purge: %w", err)
		}
	}
	return total, nil
}

// dropping deletes what a step has found. found is how much of it was to be deleted.
type dropping func(ctx context.Context, tx dialect.Tx, old seqNumbers) (found, deleted int, err error)

func (o *Outbox) purge(ctx context.Context, find string, before int64, drop dropping) (int, error) {
	return o.inSteps(ctx, func(tx dialect.Tx, limit int) (found, deleted int, err error) {
		old, err := readSeqNumbers(ctx, tx, o.sql.SQL(find), before, int64(limit))
		if err != nil {
			return 0, 0, err
		}
		return drop(ctx, tx, old)
	})
}

// dropPublished deletes events that are locked, with their records in handlers.
func (o *Outbox) dropPublished(ctx context.Context, tx dialect.Tx, seqs []int64) (found, deleted int, err error) {
	if deleted, err = o.changeSeqs(ctx, tx, purgePublished, seqs); err != nil {
		return 0, 0, err
	}
	return len(seqs), deleted, o.forget(ctx, tx, change{records: delivery.Forget}, seqs)
}

// seqNumbers are events with their numbers in the feed; 0: none.
type seqNumbers map[int64]int64

func readSeqNumbers(ctx context.Context, tx dialect.Tx, text string, args ...any) (seqNumbers, error) {
	found := make(seqNumbers)
	err := rows.Each(ctx, tx, text, args, func(row *sql.Rows) error {
		var seq, number int64
		err := row.Scan(&seq, &number)
		found[seq] = number
		return err
	})
	return found, err
}

// below are those with numbers below one, in the order in which all of this module locks rows.
func (n seqNumbers) below(number int64) []int64 {
	return n.where(func(x int64) bool { return x < number })
}

func (n seqNumbers) where(cond func(number int64) bool) (seqs []int64) {
	for seq, number := range n {
		if cond(number) {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return seqs
}

// inSteps runs a step in transactions of its own until one finds less than its limit, and answers how much was deleted.
func (o *Outbox) inSteps(ctx context.Context, step func(tx dialect.Tx, limit int) (found, deleted int, err error)) (int, error) {
	total, limit := 0, stepRows
	for {
		found, deleted := 0, 0
		err := txn.Once(ctx, o.db, o.dialect, func(tx dialect.Tx) (err error) {
			found, deleted, err = step(tx, limit)
			return err
		})
		switch {
		case err == nil:
			total += deleted
			if found < limit {
				return total, nil
			}
			limit = min(2*limit, stepRows)
		case o.dialect.Classify(err) == dialect.Conflict && limit > 1 && !txn.IsUnknown(err):
			limit /= 2 // a statement time-out: smaller steps get through
		default:
			return total, err
		}
		if err := letOthersIn(ctx); err != nil {
			return total, err
		}
	}
}

// letOthersIn waits for stepPause, or until ctx ends.
func letOthersIn(ctx context.Context) error {
	timer := time.NewTimer(stepPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
