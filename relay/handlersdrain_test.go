package relay_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

var errNo = errors.New("no")

// An event that waits for one of its handlers is not due, and Drain is over: that is no error, in whatever order.
func TestDrainEndsWhereAHandlerWaits(t *testing.T) {
	once := func(first error) relay.HandlerFunc {
		return func(_ context.Context, _ *sql.Tx, m relay.Message) error {
			if m.Attempt == 1 {
				return first
			}
			return nil
		}
	}
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			for what, handlers := range map[string][]relay.HandlerFunc{
				"unavailable":                    {once(relay.Unavailable(errNo))},
				"unavailable for an hour":        {once(relay.Unavailable(relay.RetryAfter(time.Hour, errNo)))},
				"one is due, and one in an hour": {once(relay.RetryAfter(0, errNo)), once(relay.RetryAfter(time.Hour, errNo))},
			} {
				t.Run(order.String()+", "+what, func(t *testing.T) {
					o := newOutbox(t, e)
					write(t, o, outbox.Event{Topic: "t", Key: "k"}, outbox.Event{Topic: "t", Key: "k"})
					var all []relay.Handler
					for i, fn := range handlers {
						all = append(all, relay.Handler{Name: fmt.Sprint(i), Topics: []string{"*"}, Tx: fn, From: relay.FromOldest})
					}
					opts := relay.Options{Order: order, Poll: time.Hour, PollMax: time.Hour} // or what is unavailable would be due again
					drain(t, relayOf(t, o, handlersOf(t, o, nil, all...), &opts), 0)
				})
			}
		}
	})
}

// The first event of all waits for its handler's next try. The relay looks at it as seldom as at anything that is not due.
func TestAHandlersNextTryIsWaitedForCalmly(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		var looks atomic.Int64
		db := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(query string) error {
			if strings.HasPrefix(query, "SELECT h.name, h.topics, h.former_name") {
				looks.Add(1)
			}
			return nil
		}})
		defer db.Close()
		on := outboxOn(t, db, o)
		over, done := make(chan struct{}), make(chan struct{})
		due := func(_ context.Context, _ *sql.Tx, m relay.Message) error {
			if m.Attempt == 1 {
				return relay.RetryAfter(0, errNo)
			}
			return nil
		}
		asks := func(_ context.Context, _ *sql.Tx, m relay.Message) error {
			if m.Attempt == 1 {
				return relay.RetryAfter(time.Second, errNo)
			}
			close(over)
			<-done
			return nil
		}
		h := handlersOf(t, on, nil,
			relay.Handler{Name: "due", Topics: []string{"*"}, Tx: due}, relay.Handler{Name: "asks", Topics: []string{"*"}, Tx: asks})
		r := relayOf(t, on, h, &relay.Options{Order: relay.OrderTotal, Poll: time.Millisecond, PollMax: time.Hour})
		if err := h.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		write(t, o, outbox.Event{Topic: "t"})
		stop := running(t, r)
		select {
		case <-over:
		case <-time.After(time.Minute):
			t.Error("it was not tried again, though it has been due for long")
		}
		if n := looks.Load(); n > 100 {
			t.Errorf("its handlers were looked up %d times in a second", n)
		}
		close(done)
		stop()
	})
}
