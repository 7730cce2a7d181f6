package relay_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// claims are told of all that a relay takes.
type claims chan int

func (c claims) Claimed(events int) { c <- events }

// However often it is woken and however short its polls, a relay whose publisher is slow takes two batches at most: it
// does not hoard what others could work on, and what is in hand stays readable after a crash.
func TestARelayTakesTwoBatchesAtMost(t *testing.T) {
	const batch, all = 5, 60
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range []relay.Order{relay.OrderPerKey, relay.OrderTotal, relay.OrderNone} {
			t.Run(order.String(), func(t *testing.T) {
				t.Parallel() // most of it is waiting for a sign of life
				o := newOutbox(t, e)
				events := make([]outbox.Event, all)
				for i := range events {
					events[i] = outbox.Event{Topic: "slow", Key: fmt.Sprint(i)}
				}
				write(t, o, events...)
				claimed, finish := make(claims, all), make(chan struct{})
				r, err := relay.New(o, relay.PublisherFunc(func(context.Context, relay.Message) error {
					<-finish
					return nil
				}), &relay.Options{Order: order, Batch: batch, Poll: time.Millisecond, Lease: 3 * time.Second, Observers: []relay.Observer{claimed}})
				if err != nil {
					t.Fatal(err)
				}
				stop := running(t, r)
				inHand := 0
				for inHand < 2*batch {
					inHand += <-claimed
				}
				// Until its next sign of life it has all the time to take more.
				for first := lastSign(t, o); lastSign(t, o) == first; {
					r.Wake()
				}
				for len(claimed) > 0 {
					inHand += <-claimed
				}
				if inHand != 2*batch {
					t.Errorf("%d events are in hand, want at most %d", inHand, 2*batch)
				}
				close(finish)
				stop()
			})
		}
	})
}

// lastSign is when the one relay gave its last sign of life.
func lastSign(t *testing.T, o *outbox.Outbox) (ms int64) {
	t.Helper()
	if err := o.DB().QueryRowContext(t.Context(), "SELECT seen_ms FROM "+o.Table("relays")).Scan(&ms); err != nil {
		t.Fatal(err)
	}
	return ms
}

// Where hand-overs take no time, both batches are taken at once.
func TestARelayTakesTwoBatchesAtOnceWhereHandOversAreQuick(t *testing.T) {
	const batch, all = 5, 1000
	eachOrder(t, func(t *testing.T, o *outbox.Outbox, order relay.Order) {
		events := make([]outbox.Event, all)
		for i := range events {
			events[i] = outbox.Event{Topic: "t", Key: fmt.Sprint(i)}
		}
		write(t, o, events...)
		claimed := make(claims, all)
		nothing := relay.PublisherFunc(func(context.Context, relay.Message) error { return nil })
		drain(t, relayOf(t, o, nothing, &relay.Options{Order: order, Batch: batch, Observers: []relay.Observer{claimed}}), all)
		close(claimed)
		most := 0
		for n := range claimed {
			most = max(most, n)
		}
		if most != 2*batch {
			t.Errorf("%d at once at most, want %d", most, 2*batch)
		}
	})
}
