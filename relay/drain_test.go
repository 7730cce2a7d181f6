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

// A failure in the middle holds what is behind it; in the end all is published, in OrderTotal in order.
func TestDrainPublishesEverythingThroughFailures(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			t.Run(order.String(), func(t *testing.T) {
				ctx, o := t.Context(), newOutbox(t, e)
				if err := o.Check(ctx); err != nil {
					t.Fatal(err)
				}
				err := o.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
					for i := range 250 {
						if _, err := o.Write(ctx, tx, outbox.Event{Topic: "t", Key: "k", Payload: []byte(fmt.Sprint(i)), Headers: map[string]string{"a": "b"}}); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				fail := 3
				r, err := relay.New(o, relay.PublisherFunc(func(ctx context.Context, m relay.Message) error {
					if m.Seq == 120 && fail > 0 {
						fail--
						return relay.RetryAfter(0, fmt.Errorf("no %d", fail))
					}
					got = append(got, string(m.Payload))
					return nil
				}), &relay.Options{Order: order, Concurrency: map[bool]int{true: 1}[order == relay.OrderNone]})
				if err != nil {
					t.Fatal(err)
				}
				n, err := r.Drain(ctx)
				if err != nil || n != 250 {
					t.Fatalf("%d published, %v", n, err)
				}
				if order == relay.OrderTotal {
					for i, g := range got {
						if g != fmt.Sprint(i) {
							t.Fatalf("event %s came as number %d", g, i)
						}
					}
				}
				if s, err := o.Stats(ctx); err != nil || s.Pending+s.Dead+s.Scheduled != 0 {
					t.Errorf("%+v, %v: something is left", s, err)
				}
			})
		}
	})
}

// What stands behind a first one that failed is not due before it is.
func TestDrainBesideAnOwnerEndsWhereTheFirstWaitsForItsNextTry(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		opts := relay.Options{Order: relay.OrderTotal, Backoff: time.Hour, BackoffMax: time.Hour, Poll: 10 * time.Millisecond, PollMax: 50 * time.Millisecond}
		publisher := relay.PublisherFunc(func(context.Context, relay.Message) error { return errors.New("no") })
		stop := running(t, relayOf(t, o, publisher, &opts))
		write(t, o, outbox.Event{ID: "first", Topic: "t"}, outbox.Event{Topic: "t"})
		until(t, "the first has failed", func() bool { _, attempts := stateOf(t, o, "first"); return attempts == 1 })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if n, err := relayOf(t, o, publisher, &opts).Drain(ctx); n != 0 || err != nil {
			t.Errorf("%d published, %v", n, err)
		}
		stop()
	})
}

// A look that fails within a roll left something that is due as it was: Drain must not end as if nothing were.
func TestDrainTellsOfALookThatFailed(t *testing.T) {
	const many = 2600
	eachOrder(t, func(t *testing.T, o *outbox.Outbox, order relay.Order) {
		events := make([]outbox.Event, many)
		for i := range events {
			events[i] = outbox.Event{Topic: "t", Key: fmt.Sprint(i % 7), Delay: time.Hour}
		}
		write(t, o, events...)
		if _, err := o.DB().Exec("UPDATE outbox_events SET due_ms = 1"); err != nil {
			t.Fatal(err)
		}
		var handed atomic.Bool
		db := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(query string) error {
			if handed.Load() && strings.Contains(query, "SET state = 0 WHERE seq") {
				return errNo
			}
			return nil
		}})
		defer db.Close()
		r := relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(context.Context, relay.Message) error {
			handed.Store(true)
			return nil
		}), &relay.Options{Order: order, Poll: time.Nanosecond, PollMax: 10 * time.Millisecond})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		n, err := r.Drain(ctx)
		if n == many || !errors.Is(err, errNo) {
			t.Errorf("%d published, %v; want fewer than %d, and the look's error", n, err, many)
		}
		s, err := o.Stats(t.Context())
		if err != nil || s.Pending != int64(many-n) {
			t.Errorf("%d pending, %v; want %d: all that was published is recorded", s.Pending, err, many-n)
		}
	})
}

// What is due is locked by another, a host or a relay that is just making it pending: Drain waits for it.
func TestDrainWaitsForWhatIsLocked(t *testing.T) {
	eachOrder(t, func(t *testing.T, o *outbox.Outbox, order relay.Order) {
		if o.Dialect().Lock() == "" {
			t.Skip("nobody can lock a row here")
		}
		states := []int{3}
		if order == relay.OrderPerKey {
			states = append(states, 5)
		}
		for _, state := range states {
			write(t, o, outbox.Event{Topic: "t", Key: "k", Delay: time.Hour})
			if _, err := o.DB().Exec(fmt.Sprintf("UPDATE outbox_events SET due_ms = 1, state = %d", state)); err != nil {
				t.Fatal(err)
			}
			release := locked(t, o)
			defer release()
			looks, looked := 0, make(chan struct{})
			db := hookdb.Open(o.DB(), hookdb.Hooks{After: func(query string) error {
				if strings.Contains(query, fmt.Sprintf("WHERE state = %d AND due_ms <= ", state)) {
					if looks++; looks == 5 {
						close(looked)
					}
				}
				return nil
			}})
			defer db.Close()
			ended := make(chan int, 1)
			go func() {
				n, err := relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }),
					&relay.Options{Order: order, Poll: 10 * time.Millisecond}).Drain(t.Context())
				if err != nil {
					t.Error(err)
				}
				ended <- n
			}()
			select {
			case n := <-ended:
				t.Fatalf("state %d: Drain ended with %d beside a lock", state, n)
			case <-looked:
			}
			release()
			if n := <-ended; n != 1 {
				t.Errorf("state %d: %d published, want 1", state, n)
			}
		}
	})
}
