package relay

import (
	"context"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// awaitDatabase makes the start-up checks, waiting for a database that is away.
func (r *Relay) awaitDatabase(ctx context.Context) error {
	var idle idleWait
	for {
		check, cancel := r.bounded(ctx)
		err := r.own.Check(check)
		away := check.Err() != nil
		cancel()
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if c := r.d.Classify(err); !away && (!c.Retryable() || c == dialect.ReadOnly) {
			return err
		}
		r.log.Warn("the database is away", "error", err)
		sleep(ctx, idle.afterError())
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
