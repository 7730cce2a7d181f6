package relay_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// A handler keeps the beginning that it has, whatever a later release says. What it will not have is not handed over again
// for it: with RequireHandler there would be no handler for it then.
func TestWhatAHandlerDoesNotHaveIsNotReplayedForIt(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			t.Run(order.String(), func(t *testing.T) {
				o := newOutbox(t, e)
				var got []string
				one := func(from relay.From, topics ...string) relay.Handler {
					return relay.Handler{Name: "h", Topics: topics, From: from, Tx: func(_ context.Context, _ *sql.Tx, m relay.Message) error {
						got = append(got, m.ID)
						return nil
					}}
				}
				var told published
				opts := relay.Options{Order: order, Retention: time.Hour, Observers: []relay.Observer{&told}}
				if order != relay.OrderTotal {
					opts.Concurrency = 1
				}
				write(t, o, outbox.Event{ID: "a1", Topic: "a"}, outbox.Event{ID: "b1", Topic: "b"})
				h := handlersOf(t, o, nil, one(relay.FromNow, "a"))
				r := relayOf(t, o, h, &opts)
				if err := h.Announce(t.Context()); err != nil { // it begins behind the first two
					t.Fatal(err)
				}
				write(t, o, outbox.Event{ID: "a2", Topic: "a"}, outbox.Event{ID: "b2", Topic: "b"}, outbox.Event{ID: "c1", Topic: "c"})
				drain(t, r, 5)
				drain(t, relayOf(t, o, handlersOf(t, o, nil, one(relay.FromNow, "a", "c")), &opts), 0) // its new topic begins behind all

				needed := &relay.HandlersOptions{RequireHandler: true}
				drain(t, relayOf(t, o, handlersOf(t, o, needed, one(relay.FromOldest, "a", "c")), &opts), 0)
				drain(t, relayOf(t, o, handlersOf(t, o, needed, one(relay.FromOldest, "a", "b", "c")), &opts), 1) // another, from where the handler does
				if want := []string{"a2", "b2"}; !slices.Equal(got, want) || told.Load() != 6 {
					t.Errorf("it has had %q, want %q, and %d events were published, want 6", got, want, told.Load())
				}
				if s, err := o.Stats(t.Context()); err != nil || s.Pending+s.Waiting != 0 {
					t.Errorf("%+v, %v: something was made pending for nothing", s, err)
				}
			})
		}
	})
}
