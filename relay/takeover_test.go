package relay_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// The COMMIT that takes the lease works and is not answered. When the relay finds the lease its own, it counts the lease's
// time from then: the row has to say so too, or another relay takes it while this one still thinks that it has it.
func TestALeaseWhoseCommitWasNotAnsweredIsLengthened(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		write(t, o, outbox.Event{Topic: "t"})
		until := func() (ms int64) {
			t.Helper()
			if err := o.DB().QueryRow("SELECT until_ms FROM outbox_leases WHERE name = 'total'").Scan(&ms); err != nil {
				t.Fatal(err)
			}
			return ms
		}
		var took atomic.Bool
		var first atomic.Int64
		db := hookdb.Open(o.DB(), hookdb.Hooks{After: func(query string) error {
			switch {
			case strings.HasPrefix(query, "UPDATE outbox_leases SET owner"):
				took.Store(true)
			case query == hookdb.Commit && took.Load() && first.Load() == 0:
				first.Store(until())
				return hookdb.ErrCut
			}
			return nil
		}})
		defer db.Close()
		var second atomic.Int64
		r := relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(context.Context, relay.Message) error {
			second.Store(until())
			return nil
		}), &relay.Options{Order: relay.OrderTotal})
		drain(t, r, 1)
		if first.Load() == 0 || second.Load() <= first.Load() {
			t.Errorf("the lease lasted until %d, and %d while the event was handed over", first.Load(), second.Load())
		}
	})
}
