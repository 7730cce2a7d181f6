package relay_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// There is room for one call at a time, and more was left than that: what must run alone has its turn where it stands, and each
// handler has its own.
func TestWhatWasLeftHasItsTurnInABacklog(t *testing.T) {
	const each, many = 30, 6
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range perKeyAndNone {
			t.Run(order.String(), func(t *testing.T) {
				o := newOutbox(t, e)
				var mu sync.Mutex // guards calls
				var calls []string
				var all []relay.Handler
				for _, name := range []string{"a", "b"} {
					all = append(all, relay.Handler{Name: name, Topics: []string{"*"}, NoTx: func(_ context.Context, m relay.Message) error {
						mu.Lock()
						defer mu.Unlock()
						calls = append(calls, name+" "+m.ID)
						return nil
					}})
				}
				late := handlersOf(t, o, nil, all...)
				r := relayOf(t, o, late, &relay.Options{Order: order, Concurrency: 1, Poll: 5 * time.Millisecond})
				if err := late.Announce(t.Context()); err != nil {
					t.Fatal(err)
				}
				for i := range each {
					write(t, o, outbox.Event{ID: fmt.Sprint(i), Topic: "t", Key: fmt.Sprint(i)})
				}
				drain(t, relayOf(t, o, handlersOf(t, o, nil), &relay.Options{Order: order}), 0)
				for _, query := range []string{
					"UPDATE outbox_deliveries SET due_ms = 1000 + seq",
					// It shared its process with others when that ended.
					"UPDATE outbox_deliveries SET attempts = 1, settled_ms = 1 WHERE handler = 'a' AND seq = (SELECT seq FROM outbox_events WHERE id = '0')",
				} {
					if _, err := o.DB().Exec(query); err != nil {
						t.Fatal(err)
					}
				}
				defer running(t, r)()
				made := func() []string {
					mu.Lock()
					defer mu.Unlock()
					return slices.Clone(calls)
				}
				until(t, "all has run", func() bool { return len(made()) == 2*each })
				first := made()[:many]
				if !slices.Contains(first, "a 0") {
					t.Errorf("the first calls were %q: want the one among them that must be alone", first)
				}
				for _, name := range []string{"a 2", "b 1"} {
					if !slices.Contains(first, name) {
						t.Errorf("the first calls were %q: want some of both handlers, each from its first on", first)
					}
				}
			})
		}
	})
}
