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

func eachOrder(t *testing.T, fn func(t *testing.T, o *outbox.Outbox, order relay.Order)) {
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			t.Run(order.String(), func(t *testing.T) {
				t.Parallel()
				fn(t, newOutbox(t, e), order)
			})
		}
	})
}

// Two renewals are not sent, and the answer to the third is lost. There is time for more: nobody else gets what is in hand.
func TestRenewalsThatFailAreTriedAgainWhileThereIsTime(t *testing.T) {
	eachOrder(t, func(t *testing.T, o *outbox.Outbox, order relay.Order) {
		const lease = 3 * time.Second
		opts := relay.Options{Order: order, Lease: lease, Poll: 20 * time.Millisecond, PublishTimeout: time.Minute}
		var cut, renewing atomic.Int64
		db := hookdb.Open(o.DB(), hookdb.Hooks{
			Before: func(query string) error {
				if !renews(query) {
					return nil
				}
				if cut.Add(1) <= 2 {
					return hookdb.ErrCut
				}
				renewing.CompareAndSwap(0, 1)
				return nil
			},
			After: func(query string) error {
				if query == hookdb.Commit && renewing.CompareAndSwap(1, 2) {
					return hookdb.ErrCut
				}
				return nil
			},
		})
		defer db.Close()
		entered := make(chan struct{}, 10)
		slow := relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(ctx context.Context, _ relay.Message) error {
			entered <- struct{}{}
			time.Sleep(lease + lease/4)
			return ctx.Err()
		}), &opts)
		write(t, o, outbox.Event{Topic: "t", Key: "k"})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 2)
		go func() { ended <- slow.Run(ctx) }()
		<-entered
		other := relayOf(t, o, relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
			t.Errorf("another handed %s over", m.ID)
			return nil
		}), &opts)
		go func() { ended <- other.Run(ctx) }()
		for n := 1; n > 0; time.Sleep(10 * time.Millisecond) {
			if err := o.DB().QueryRow(`SELECT COUNT(*) FROM outbox_events`).Scan(&n); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if len(entered) != 0 || slow.Refused() != 0 || renewing.Load() != 2 {
			t.Errorf("handed over %d times more, %d refused, %d renewals were cut", len(entered), slow.Refused(), cut.Load())
		}
	})
}

// renews reports whether a statement is a sign of life, or extends a claim.
func renews(query string) bool {
	return strings.Contains(query, "SET seen_ms") || strings.HasPrefix(query, "UPDATE outbox_events") && strings.Contains(query, "AND due_ms >")
}
