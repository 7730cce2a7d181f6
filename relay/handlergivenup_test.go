package relay_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// recordOf is the record of the only event in a handler.
func recordOf(t *testing.T, o *outbox.Outbox, handler string) (state, attempts int) {
	t.Helper()
	state = -1
	rows, err := o.DB().QueryContext(t.Context(), "SELECT state, attempts FROM outbox_deliveries WHERE handler = '"+handler+"'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&state, &attempts); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return state, attempts
}

func lastError(t *testing.T, o *outbox.Outbox) (text string) {
	t.Helper()
	if err := o.DB().QueryRow("SELECT last_error FROM outbox_events").Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// A hand-over was given up since a handler did not return. When it returns at last, that it is done is noted, and the handlers
// behind it are left to the next hand-over: another process may have run them by then, and newer events of the key.
func TestAHandOverThatWasGivenUpCallsNoFurtherHandler(t *testing.T) {
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range perKeyAndNone {
			t.Run(order.String(), func(t *testing.T) {
				t.Parallel() // most of it is waiting
				o := newOutbox(t, e)
				finish := make(chan struct{})
				var behind atomic.Int64
				h := handlersOf(t, o, nil,
					relay.Handler{Name: "a", Topics: []string{"t"}, From: relay.FromOldest,
						NoTx: func(context.Context, relay.Message) error { <-finish; return nil }},
					relay.Handler{Name: "b", Topics: []string{"t"}, From: relay.FromOldest,
						NoTx: func(context.Context, relay.Message) error { behind.Add(1); return nil }},
					relay.Handler{Name: "busy", Topics: []string{"busy"}, From: relay.FromOldest,
						NoTx: func(context.Context, relay.Message) error { time.Sleep(10 * time.Millisecond); return nil }})
				r := relayOf(t, o, h, &relay.Options{Order: order, Concurrency: 4, PublishTimeout: 2 * time.Second,
					Poll: 10 * time.Millisecond, Backoff: time.Hour, BackoffMax: time.Hour})
				defer runningStuck(t, r)()
				write(t, o, outbox.Event{Topic: "t", Key: "k"})
				write(t, o, slices.Repeat([]outbox.Event{{Topic: "busy", Key: "busy"}}, 1000)...) // the relay is in the midst of its work
				until(t, "it is charged and given up", func() bool {
					var text string
					err := o.DB().QueryRow("SELECT last_error FROM outbox_events WHERE topic = 't'").Scan(&text)
					state, attempts := recordOf(t, o, "a")
					return err == nil && strings.Contains(text, `"a"`) && state == 3 && attempts == 1
				})
				close(finish)
				until(t, "that it is done is noted", func() bool {
					state, _ := recordOf(t, o, "a")
					return state == 1
				})
				time.Sleep(100 * time.Millisecond) // it would be called at once
				if n := behind.Load(); n != 0 {
					t.Errorf("the handler behind it was called %d times", n)
				}
			})
		}
	})
}

// charged is an Observer that tells when a handler is charged first.
type charged chan struct{}

func (c charged) HandlerFailed(string, relay.Message, error, time.Duration) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// It is charged for not returning, and then it says that its destination is unavailable: that would keep all others waiting.
func TestWhatAHandlerAnswersAfterItIsChargedComesToNothing(t *testing.T) {
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			t.Run(order.String(), func(t *testing.T) {
				t.Parallel() // most of it is waiting
				o := newOutbox(t, e)
				c := make(charged)
				h := handlersOf(t, o, nil, relay.Handler{Name: "late", Topics: []string{"*"}, From: relay.FromOldest,
					NoTx: func(context.Context, relay.Message) error { <-c; return relay.Unavailable(errNo) }})
				r := relayOf(t, o, h, &relay.Options{Order: order, PublishTimeout: time.Second, Observers: []relay.Observer{c},
					Backoff: time.Hour, BackoffMax: time.Hour})
				write(t, o, outbox.Event{ID: "e", Topic: "t", Key: "k"})
				if _, err := r.Drain(t.Context()); err != nil && !errors.Is(err, relay.ErrStuck) {
					t.Errorf("Drain: %v", err)
				}
				if text := lastError(t, o); !strings.Contains(text, relay.ErrStuck.Error()) {
					t.Errorf("last_error %q, want that it did not return", text)
				}
			})
		}
	})
}

// A call that does not return is the handler's own: another's failures with the event are not counted with it.
func TestAHandlerThatHangsIsNotChargedWhatOthersHaveUsedUp(t *testing.T) {
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			t.Run(order.String(), func(t *testing.T) {
				t.Parallel() // most of it is waiting
				o := newOutbox(t, e)
				finish := make(chan struct{})
				var calls atomic.Int64
				h := handlersOf(t, o, nil,
					relay.Handler{Name: "fails", Topics: []string{"*"}, From: relay.FromOldest,
						NoTx: func(_ context.Context, m relay.Message) error {
							if m.Attempt < 3 {
								return relay.RetryAfter(time.Millisecond, errNo)
							}
							return nil
						}},
					relay.Handler{Name: "hangs", Topics: []string{"*"}, From: relay.FromOldest,
						NoTx: func(context.Context, relay.Message) error {
							switch calls.Add(1) {
							case 1, 2:
								return relay.Unavailable(relay.RetryAfter(time.Millisecond, errNo))
							case 3:
								<-finish
							}
							return nil
						}})
				r := relayOf(t, o, h, &relay.Options{Order: order, MaxAttempts: 3, PublishTimeout: 200 * time.Millisecond, Lease: 2 * time.Second,
					Poll: 10 * time.Millisecond, Backoff: 10 * time.Millisecond, BackoffMax: 10 * time.Millisecond})
				defer runningStuck(t, r)()
				write(t, o, outbox.Event{Topic: "t", Key: "k"})
				until(t, "it was given up", func() bool {
					var text string
					err := o.DB().QueryRow("SELECT last_error FROM outbox_events").Scan(&text)
					return err == nil && strings.Contains(text, relay.ErrStuck.Error())
				})
				until(t, "it is charged", func() bool {
					_, attempts := recordOf(t, o, "hangs")
					return attempts == 1
				})
				if s, err := o.Stats(t.Context()); err != nil || s.Dead != 0 {
					t.Errorf("%d dead letters after it hung once, %v: %s", s.Dead, err, lastError(t, o))
				}
				close(finish)
				until(t, "the event is through", func() bool {
					s, err := o.Stats(t.Context())
					return err == nil && s.Pending+s.Dead == 0
				})
			})
		}
	})
}

// Each process makes one call that does not return, and ends. The next one knows of it.
func TestAHandlerThatHangsInOneProcessAfterAnotherHasItsAttempts(t *testing.T) {
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			t.Run(order.String(), func(t *testing.T) {
				t.Parallel() // most of it is waiting
				o := newOutbox(t, e)
				finish := make(chan struct{})
				defer close(finish)
				var calls atomic.Int64
				write(t, o, outbox.Event{Topic: "t", Key: "k"})
				for process := 1; process <= 2; process++ {
					h := handlersOf(t, o, nil, relay.Handler{Name: "hangs", Topics: []string{"*"}, From: relay.FromOldest,
						NoTx: func(context.Context, relay.Message) error { calls.Add(1); <-finish; return nil }})
					stop := runningStuck(t, relayOf(t, o, h, &relay.Options{Order: order, MaxAttempts: 2,
						PublishTimeout: 200 * time.Millisecond, Poll: 10 * time.Millisecond, Backoff: 10 * time.Millisecond,
						BackoffMax: 10 * time.Millisecond, ShutdownTimeout: 500 * time.Millisecond, Lease: 2 * time.Second}))
					until(t, "it is charged", func() bool {
						_, attempts := recordOf(t, o, "hangs")
						s, err := o.Stats(t.Context())
						return err == nil && attempts == process && (s.Dead == 1) == (process == 2)
					})
					stop()
				}
				if text := lastError(t, o); calls.Load() != 2 || !strings.Contains(text, `"hangs"`) {
					t.Errorf("%d calls, want 2; last_error %q, want that it names the handler", calls.Load(), text)
				}
			})
		}
	})
}
