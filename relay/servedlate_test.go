package relay_test

import (
	"database/sql"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

var perKeyAndNone = []relay.Order{relay.OrderPerKey, relay.OrderNone}

// ends are the ways in which an event no longer waits for its handler elsewhere.
var ends = map[string]func(t *testing.T, o *outbox.Outbox, order relay.Order) (end func()){
	"it is served":           serving,
	"its handler is retired": func(t *testing.T, o *outbox.Outbox, _ relay.Order) func() { return retiring(t, o) },
	"its topic is retired":   func(t *testing.T, o *outbox.Outbox, _ relay.Order) func() { return retiring(t, o, "*") },
}

// What an event waits for elsewhere ends before the event is put aside: nobody wakes it afterwards. It goes on at once all the
// same.
func TestWhatEndsWhileItsEventIsInHandIsWaitedForNoLonger(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range perKeyAndNone {
			for what, way := range ends {
				t.Run(order.String()+", "+what, func(t *testing.T) {
					o := newOutbox(t, e)
					announceLate(t, o, order)
					end := way(t, o, order)
					var left, ended atomic.Bool
					db := hookdb.Open(o.DB(), hookdb.Hooks{After: func(query string) error {
						left.Store(left.Load() || strings.HasPrefix(query, "INSERT INTO outbox_deliveries (settled_ms"))
						if query == hookdb.Commit && left.Load() && ended.CompareAndSwap(false, true) {
							end()
						}
						return nil
					}})
					defer db.Close()
					drain(t, ignorant(t, o, db, order), 1)
					if !ended.Load() {
						t.Error("it was not left to another process")
					}
				})
			}
		}
	})
}

// What an event waits for ends in the very transaction that it is put aside in. Whoever ends it waits for the event's row, and
// then wakes it.
func TestWhatEndsWhileItsEventIsPutAsideWakesIt(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range perKeyAndNone {
			for what, way := range ends {
				t.Run(order.String()+", "+what, func(t *testing.T) {
					t.Parallel() // most of it is waiting
					o := newOutbox(t, e)
					if o.Dialect().Lock() == "" {
						t.Skip("with one writer no two transactions wait for each other")
					}
					announceLate(t, o, order)
					wakes := make(chan struct{}, 100)
					other := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(query string) error {
						if strings.HasPrefix(query, "UPDATE outbox_events") && strings.Contains(query, " SET due_ms = CASE") {
							wakes <- struct{}{}
						}
						return nil
					}})
					defer other.Close()
					end := way(t, outboxOn(t, other, o), order)
					var once sync.Once
					var ending sync.WaitGroup
					defer ending.Wait()
					db := hookdb.Open(o.DB(), hookdb.Hooks{After: func(query string) error {
						if strings.HasPrefix(query, "SELECT h.topics FROM outbox_deliveries") {
							once.Do(func() {
								ended := make(chan struct{})
								ending.Go(func() {
									defer close(ended)
									end()
								})
								<-wakes
								select {
								case <-ended: // nothing keeps it off
								case <-time.After(300 * time.Millisecond): // it waits for this transaction
								}
							})
						}
						return nil
					}})
					defer db.Close()
					stop := running(t, ignorant(t, o, db, order))
					defer stop()
					until(t, "the event goes on", func() bool {
						s, err := o.Stats(t.Context())
						return err == nil && s.Pending == 0
					})
				})
			}
		}
	})
}

// announceLate makes a handler known that another process has, and writes an event that it is to have.
func announceLate(t *testing.T, o *outbox.Outbox, order relay.Order) {
	t.Helper()
	h := handlersOf(t, o, nil, relay.Handler{Name: "late", Topics: []string{"*"}, Tx: nothing})
	relayOf(t, o, h, &relay.Options{Order: order})
	if err := h.Announce(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, o, outbox.Event{Topic: "t", Key: "k"})
}

// ignorant is a relay on a pool that does not know the handler, and looks once an hour for what waits for it.
func ignorant(t *testing.T, o *outbox.Outbox, db *sql.DB, order relay.Order) *relay.Relay {
	t.Helper()
	on := outboxOn(t, db, o)
	return relayOf(t, on, handlersOf(t, on, nil), &relay.Options{Order: order, Poll: 10 * time.Millisecond, PollMax: time.Hour})
}

// served is told of what a handler has done.
type served chan struct{}

func (s served) Handled(string, relay.Message, time.Duration) { s <- struct{}{} }

// serving is a process that has the handler. end runs it until it has run what was left.
func serving(t *testing.T, o *outbox.Outbox, order relay.Order) (end func()) {
	done := make(served, 1)
	h := handlersOf(t, o, nil, relay.Handler{Name: "late", Topics: []string{"*"}, Tx: nothing})
	r := relayOf(t, o, h, &relay.Options{Order: order, Poll: 5 * time.Millisecond, Observers: []relay.Observer{done}})
	return func() {
		stop := running(t, r)
		defer stop()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Error("nobody has run what was left")
		}
	}
}

// retiring takes the handler away, or a topic of it.
func retiring(t *testing.T, o *outbox.Outbox, topics ...string) (end func()) {
	return func() {
		if err := o.RetireHandler(t.Context(), "late", topics...); err != nil {
			t.Error(err)
		}
	}
}
