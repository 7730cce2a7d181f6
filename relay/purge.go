package relay

import (
	"context"
	"sync"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
	"github.com/sqloutbox/sqloutbox/outbox"
)

func isReadOnly(c dialect.Class) bool { return c == dialect.ReadOnly }

// startPurge deletes what is too old now and then, and the rows of relays that died; stop ends it and waits. It is on
// a timer of its own, so that it happens under load too, and any number of relays may do it at once.
func (r *Relay) startPurge(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			r.purge(ctx)
			sleep(ctx, jitter(r.opts.PurgeEvery))
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

func (r *Relay) purge(ctx context.Context) {
	if r.opts.Retention > 0 || r.opts.DeadRetention > 0 {
		n, err := r.o.Purge(ctx, outbox.PurgeOptions{Published: r.opts.Retention, Dead: r.opts.DeadRetention})
		if err != nil && ctx.Err() == nil {
			r.log.Warn("purge failed; it is tried again later", "deleted", n, "error", err)
		}
	}
	err := txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
		_, err := execTx(ctx, tx, r.sql.SQL(deleteDeadRelays), r.opts.Lease.Milliseconds())
		return err
	})
	if err != nil && ctx.Err() == nil {
		r.log.Warn("rows of dead relays could not be deleted", "error", err)
	}
}
