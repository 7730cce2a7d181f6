// Package startup is what relay and relay/webhook share when they begin: the check, and a database that is away.
package startup

import (
	"context"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Outbox is outbox.Outbox.
type Outbox interface {
	Check(ctx context.Context) error
	Dialect() dialect.Dialect
}

// Check makes the outbox's check, again and again while the database is away: it doesn't answer within a time, or says so. wait is
// called with that error each time. The answer is what the check says if waiting does not mend it, and nil when ctx ends.
func Check(ctx context.Context, o Outbox, within time.Duration, wait func(away error)) error {
	for {
		check, cancel := context.WithTimeout(ctx, within)
		err := o.Check(check)
		away := check.Err() != nil
		cancel()
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if c := o.Dialect().Classify(err); !away && (!c.Retryable() || c == dialect.ReadOnly) {
			return err
		}
		wait(err)
	}
}
