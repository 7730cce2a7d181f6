package relay_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// How old a failure is counts from when the database was asked, and not once more from before.
func TestDeadLetterAfterIsNotEarlyWhereReadingIsSlow(t *testing.T) {
	const after, slow = 700 * time.Millisecond, 250 * time.Millisecond
	handler := relay.Handler{Name: "one", Topics: []string{"*"}, From: relay.FromOldest, NoTx: func(context.Context, relay.Message) error { return errNo }}
	fails := relay.PublisherFunc(func(context.Context, relay.Message) error { return errNo })
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			for name, publisher := range map[string]func(o *outbox.Outbox) relay.Publisher{
				"publisher": func(*outbox.Outbox) relay.Publisher { return fails },
				"handler":   func(o *outbox.Outbox) relay.Publisher { return handlersOf(t, o, nil, handler) },
			} {
				t.Run(fmt.Sprint(order, " ", name), func(t *testing.T) {
					t.Parallel()
					o := newOutbox(t, e)
					db := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(query string) error {
						if strings.HasPrefix(query, "SELECT seq, due_ms, attempts") {
							time.Sleep(slow)
						}
						return nil
					}})
					defer db.Close()
					on := outboxOn(t, db, o)
					write(t, o, outbox.Event{Topic: "t"})
					defer running(t, relayOf(t, on, publisher(on), &relay.Options{Order: order, MaxAttempts: 1, DeadLetterAfter: after,
						Poll: time.Millisecond, Backoff: time.Millisecond, BackoffMax: time.Millisecond}))()
					var done, first int64
					until(t, "it is dead", func() bool {
						err := o.DB().QueryRow("SELECT COALESCE(MAX(settled_ms), 0), COALESCE(MAX(first_failed_ms), 0) FROM outbox_events WHERE state = 2").Scan(&done, &first)
						if err != nil {
							t.Fatal(err)
						}
						return done > 0
					})
					if age := time.Duration(done-first) * time.Millisecond; age < after {
						t.Errorf("it was dead %v after its first failure, want at least %v", age, after)
					}
				})
			}
		}
	})
}
