package relay_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// failures is an Observer that counts what handlers are charged with, and tells of the first.
type failures struct {
	charged
	n atomic.Int64
}

func (f *failures) HandlerFailed(handler string, m relay.Message, err error, took time.Duration) {
	f.n.Add(1)
	f.charged.HandlerFailed(handler, m, err, took)
}

// What another process has left does not return, and fails when it returns at last: that is one failure.
func TestWhatWasLeftIsChargedOnceForNotReturning(t *testing.T) {
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range perKeyAndNone {
			t.Run(order.String(), func(t *testing.T) {
				t.Parallel() // most of it is waiting
				o := newOutbox(t, e)
				f := &failures{charged: make(charged)}
				h := handlersOf(t, o, nil, relay.Handler{Name: "late", Topics: []string{"*"},
					NoTx: func(_ context.Context, m relay.Message) error {
						if m.Attempt == 1 {
							<-f.charged
							return errNo
						}
						return nil
					}})
				r := relayOf(t, o, h, &relay.Options{Order: order, PublishTimeout: 2 * time.Second, Poll: 10 * time.Millisecond,
					Backoff: 10 * time.Millisecond, BackoffMax: 10 * time.Millisecond, Observers: []relay.Observer{f}})
				if err := h.Announce(t.Context()); err != nil {
					t.Fatal(err)
				}
				write(t, o, outbox.Event{Topic: "t", Key: "k"})
				drain(t, relayOf(t, o, handlersOf(t, o, nil), &relay.Options{Order: order}), 0)
				stop := running(t, r)
				until(t, "the event is through, and the failure told", func() bool {
					s, err := o.Stats(t.Context())
					return err == nil && s.Pending+s.Dead == 0 && f.n.Load() > 0
				})
				stop()
				if n := f.n.Load(); n != 1 {
					t.Errorf("%d failures were told, want one", n)
				}
			})
		}
	})
}
