package relay_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
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

// What was passed by, since its topic was paused, has its turn when it is resumed, though more becomes due all the time than there
// is room for.
func TestWhatWasPassedByHasItsTurnHoweverMuchBecomesDue(t *testing.T) {
	const fillers = 1000
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		makeDue := func(n int) error {
			_, err := o.DB().Exec(fmt.Sprintf("UPDATE outbox_deliveries SET due_ms = %s WHERE seq = (SELECT seq FROM outbox_events WHERE id = '%d')",
				o.Dialect().Clock(), n))
			return err
		}
		var calls atomic.Int64
		resumed := make(chan int64, 1)
		late := relay.Handler{Name: "late", Topics: []string{"*"}, NoTx: func(_ context.Context, m relay.Message) error {
			if m.Topic == "paused" {
				resumed <- calls.Load()
				return nil
			}
			n := calls.Add(1)
			if n == 5 {
				if err := o.Resume(t.Context(), "paused"); err != nil {
					return err
				}
			}
			time.Sleep(5 * time.Millisecond)
			return makeDue(int(n) + 2) // so that three are due or running
		}}
		h := handlersOf(t, o, nil, late)
		r := relayOf(t, o, h, &relay.Options{Concurrency: 2, Poll: 5 * time.Millisecond})
		if err := h.Announce(t.Context()); err != nil {
			t.Fatal(err)
		}
		events := []outbox.Event{{Topic: "paused"}}
		for i := range fillers {
			events = append(events, outbox.Event{ID: fmt.Sprint(i), Topic: "t", Key: fmt.Sprint(i)})
		}
		write(t, o, events...)
		drain(t, relayOf(t, o, handlersOf(t, o, nil), &relay.Options{}), 0)
		if err := o.Pause(t.Context(), "paused"); err != nil {
			t.Fatal(err)
		}
		// It and three others are due.
		if _, err := o.DB().Exec("UPDATE outbox_deliveries SET due_ms = CASE WHEN seq < (SELECT seq FROM outbox_events WHERE id = '3') " +
			"THEN 1000 + seq ELSE 4000000000000 END"); err != nil {
			t.Fatal(err)
		}
		defer running(t, r)()
		select {
		case n := <-resumed:
			if n > fillers/2 {
				t.Errorf("it came after %d others", n)
			}
		case <-time.After(time.Minute):
			t.Error("it was not called within a minute")
		}
	})
}
