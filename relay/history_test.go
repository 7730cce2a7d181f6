package relay_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// What a look reads of an event that has failed is asked for in a second statement. Where that finds nothing the event is gone
// by now, and is not taken for one that nothing has happened to.
func TestAnEventWithoutItsHistoryIsNotHandedOn(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			t.Run(order.String(), func(t *testing.T) {
				o := newOutbox(t, e)
				write(t, o, outbox.Event{Topic: "t", Key: "k"})
				var hidden atomic.Bool
				db := hookdb.Open(o.DB(), hookdb.Hooks{Rewrite: func(query string) string {
					if strings.HasPrefix(query, "SELECT seq, due_ms, attempts,") && hidden.CompareAndSwap(false, true) {
						return query + " AND 1 = 0"
					}
					return query
				}})
				defer db.Close()
				ctx, stop := context.WithTimeout(t.Context(), time.Minute) // for what never comes
				defer stop()
				var attempts []int // of one event, one hand-over after another
				r := relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
					if attempts = append(attempts, m.Attempt); len(attempts) == 3 {
						stop()
						return nil
					}
					return relay.RetryAfter(time.Millisecond, context.DeadlineExceeded)
				}), &relay.Options{Order: order, Poll: 5 * time.Millisecond, PollMax: 10 * time.Millisecond})
				if err := r.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if len(attempts) != 3 || attempts[0] != 1 || attempts[1] != 2 || attempts[2] != 3 || !hidden.Load() {
					t.Errorf("attempts %v, and its history was hidden: %v", attempts, hidden.Load())
				}
			})
		}
	})
}
