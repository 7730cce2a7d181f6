package relay

import (
	"context"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/startup"
)

// awaitDatabase makes the start-up checks, waiting for a database that is away.
func (r *Relay) awaitDatabase(ctx context.Context) error {
	var idle idleWait
	return startup.Check(ctx, r.own, r.bookkeeping(), func(away error) {
		r.log.Warn("the database is away", "error", away)
		clocks.Sleep(ctx, idle.afterError())
	})
}
