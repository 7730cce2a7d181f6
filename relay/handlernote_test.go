package relay_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// noStuck is an Observer that wants all calls to return.
type noStuck struct{ t *testing.T }

func (o noStuck) Stuck(m relay.Message, since time.Duration) {
	o.t.Errorf("a call for %s does not return within %v", m.ID, since)
}

// With one writer the note that a handler is done waits for who writes, a third of the Lease and more, as long as the Lease
// itself is not lost: the handler is not called again.
func TestWhatIsDoneIsNotedHoweverLongAnotherWrites(t *testing.T) {
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			t.Run(order.String(), func(t *testing.T) {
				t.Parallel() // most of it is waiting
				o := newOutbox(t, e)
				if o.Dialect().Lock() != "" {
					t.Skip("here nobody's write keeps all others off")
				}
				if _, err := o.DB().Exec("CREATE TABLE host (n BIGINT)"); err != nil {
					t.Fatal(err)
				}
				var calls atomic.Int64
				var host sync.WaitGroup
				defer host.Wait()
				h := handlersOf(t, o, nil, relay.Handler{Name: "outside", Topics: []string{"*"}, From: relay.FromOldest,
					NoTx: func(context.Context, relay.Message) error {
						if calls.Add(1) > 1 {
							return nil
						}
						tx, err := o.DB().Begin()
						if err != nil {
							return err
						}
						if _, err := tx.Exec("INSERT INTO host (n) VALUES (1)"); err != nil {
							return err
						}
						host.Go(func() {
							time.Sleep(2700 * time.Millisecond)
							if err := tx.Commit(); err != nil {
								t.Error(err)
							}
						})
						return nil
					}})
				r := relayOf(t, o, h, &relay.Options{Order: order, Lease: 6 * time.Second, PublishTimeout: time.Second,
					Poll: time.Minute, Observers: []relay.Observer{noStuck{t}}})
				write(t, o, outbox.Event{Topic: "t", Key: "k"})
				defer running(t, r)()
				until(t, "the event is through", func() bool {
					s, err := o.Stats(t.Context())
					return err == nil && s.Pending+s.Dead == 0
				})
				if n := calls.Load(); n != 1 {
					t.Errorf("it was called %d times, want once", n)
				}
			})
		}
	})
}
