package relay_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// More is due at once than a look has time for: half a Poll, and no more than a look may take in all.
func TestAMassThatIsDueAtOnceIsPublishedWhileItIsMadePending(t *testing.T) {
	const many = 8000 // some looks are made before the first call has counted what is left
	for name, c := range map[string]struct{ poll, each time.Duration }{"a short Poll": {time.Nanosecond, 0}, "a long Poll": {20 * time.Second, 200 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			eachOrder(t, func(t *testing.T, o *outbox.Outbox, order relay.Order) {
				events := make([]outbox.Event, many)
				for i := range events {
					events[i] = outbox.Event{Topic: "t", Key: fmt.Sprint(i % 7), Delay: time.Hour}
				}
				write(t, o, events...)
				if _, err := o.DB().Exec("UPDATE outbox_events SET due_ms = 1"); err != nil {
					t.Fatal(err)
				}
				db := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(query string) error {
					if strings.Contains(query, "SET state = 0 WHERE seq") {
						time.Sleep(c.each) // a slow database
					}
					return nil
				}})
				defer db.Close()
				var left atomic.Int64
				r := relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(context.Context, relay.Message) error {
					if left.Load() == 0 {
						var n int64
						if err := o.DB().QueryRow("SELECT COUNT(*) FROM outbox_events WHERE state = 3").Scan(&n); err != nil {
							t.Error(err)
						}
						left.CompareAndSwap(0, n)
					}
					return nil
				}), &relay.Options{Order: order, Poll: c.poll, PollMax: 30 * time.Second, Lease: 24 * time.Second})
				drain(t, r, many)
				if left.Load() == 0 {
					t.Error("all were made pending before the first was handed over")
				}
			})
		})
	}
}
