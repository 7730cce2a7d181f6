package relay

import (
	"context"
	"errors"
	"sync"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// startPurge deletes what is too old now and then, and the rows of relays that died; stop ends it and waits. It is on
// a timer of its own, so that it happens under load too, and any number of relays may do it at once.
func (r *Relay) startPurge(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			r.purge(ctx)
			clocks.Sleep(ctx, jitter(r.opts.PurgeEvery))
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

func (r *Relay) purge(ctx context.Context) {
	if r.opts.Retention > 0 || r.opts.DeadRetention > 0 {
		n, err := r.own.Purge(ctx, outbox.PurgeOptions{Published: r.opts.Retention, Dead: r.opts.DeadRetention})
		if err != nil && ctx.Err() == nil {
			r.log.Warn("purge failed; it is tried again later", "deleted", n, "error", err)
		}
	}
	if err := errors.Join(r.removeFallen(ctx), r.sweepCrashes(ctx)); err != nil && ctx.Err() == nil {
		r.log.Warn("rows of fallen relays could not be taken away", "error", err)
	}
}

// sweepCrashes deletes the rows of crashes whose suspects are all through; most are gone by then.
func (r *Relay) sweepCrashes(ctx context.Context) error {
	ids, err := rows.Column[string](ctx, r.db, r.sql.SQL(crashes))
	if err != nil {
		return err
	}
	for _, id := range ids {
		err := txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error { return r.closeCrash(ctx, tx, id, true) })
		if err != nil {
			return err
		}
	}
	return nil
}
