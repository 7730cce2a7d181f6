package relay_test

import (
	"context"
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

// How many statements a calm relay sends: its start alone, or some looks besides, ever longer apart. One that does not wait sends
// thousands meanwhile.
const (
	aStart    = 100
	someLooks = 300
)

// Something is due that this relay may not hand on. It must not ask for it again and again, and its poll is an hour.
func TestARelayThatMayNotHandOnIsCalm(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			t.Run("all is paused, "+order.String(), func(t *testing.T) {
				o := newOutbox(t, e)
				write(t, o, outbox.Event{Topic: "t", Key: "k"}, outbox.Event{Topic: "t", Key: "later", Delay: 50 * time.Millisecond})
				if err := o.Pause(t.Context(), outbox.AllTopics); err != nil {
					t.Fatal(err)
				}
				calm(t, o, order, aStart)
			})
		}
		for _, order := range allOrders {
			t.Run("what is due is locked by another, "+order.String(), func(t *testing.T) {
				o := newOutbox(t, e)
				if o.Dialect().Lock() == "" {
					t.Skip("nobody can lock a row here")
				}
				write(t, o, outbox.Event{Topic: "t", Key: "k", Delay: time.Hour}, outbox.Event{Topic: "t", Key: "failed", Delay: time.Hour})
				if order == relay.OrderPerKey {
					if _, err := o.DB().Exec("UPDATE outbox_events SET state = 5, attempts = 1 WHERE event_key = 'failed'"); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := o.DB().Exec("UPDATE outbox_events SET due_ms = 1"); err != nil {
					t.Fatal(err)
				}
				defer locked(t, o)()
				calm(t, o, order, someLooks)
			})
		}
		const plain = `INSERT INTO outbox_events (id, topic, event_key, payload) VALUES ('1', 't', 'k', '')` // it has no partition yet
		t.Run("every partition is another's", func(t *testing.T) {
			o := newOutbox(t, e)
			write(t, o, outbox.Event{Topic: "t", Key: "k"})
			hold(t, o)
			if _, err := o.DB().Exec(plain); err != nil {
				t.Fatal(err)
			}
			calm(t, o, relay.OrderPerKey, aStart)
		})
		t.Run("its partition is another's, and it is locked", func(t *testing.T) {
			o := newOutbox(t, e)
			if o.Dialect().Lock() == "" {
				t.Skip("nobody can lock a row here")
			}
			drain(t, relayOf(t, o, relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }), nil), 0) // partitions are made
			if err := takenByAnother(t, o).Commit(); err != nil {
				t.Fatal(err)
			}
			others := fmt.Sprintf("UPDATE outbox_leases SET owner = '' WHERE name <> 'key/%02d'", outbox.Partition("k"))
			for _, statement := range []string{others, plain} {
				if _, err := o.DB().Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			defer locked(t, o)()
			calm(t, o, relay.OrderPerKey, someLooks)
		})
	})
}

// Some of what is due is pending, and the rest can't be made so: each look fails, and is waited after.
func TestARelayWhoseLooksFailIsCalm(t *testing.T) {
	eachOrder(t, func(t *testing.T, o *outbox.Outbox, order relay.Order) {
		events := make([]outbox.Event, 2600)
		for i := range events {
			events[i] = outbox.Event{Topic: "t", Key: fmt.Sprint(i % 7), Delay: time.Hour}
		}
		write(t, o, events...)
		if _, err := o.DB().Exec("UPDATE outbox_events SET due_ms = 1"); err != nil {
			t.Fatal(err)
		}
		var handed atomic.Bool
		var failed atomic.Int64
		db := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(query string) error {
			switch {
			case !strings.Contains(query, "SET state = 0 WHERE seq"):
			case handed.Load():
				failed.Add(1)
				return errNo
			default:
				time.Sleep(150 * time.Millisecond) // longer than a look has time for
			}
			return nil
		}})
		defer db.Close()
		defer running(t, relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(context.Context, relay.Message) error {
			handed.Store(true)
			return nil
		}), &relay.Options{Order: order, Poll: 200 * time.Millisecond}))()
		until(t, "a look failed", func() bool { return failed.Load() > 0 })
		time.Sleep(500 * time.Millisecond)
		if n := failed.Load(); n > 50 {
			t.Errorf("%d looks failed in half a second", n)
		}
	})
}

// calm runs a relay for half a second.
func calm(t *testing.T, o *outbox.Outbox, order relay.Order, most int64) {
	t.Helper()
	var sent atomic.Int64
	db := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(string) error { sent.Add(1); return nil }})
	defer db.Close()
	r := relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
		t.Errorf("%s was handed on", m.ID)
		return nil
	}), &relay.Options{Order: order, Lease: time.Hour, Poll: time.Hour, PollMax: time.Hour})
	ctx, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer stop()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := sent.Load(); n > most {
		t.Errorf("%d statements", n)
	}
}

// hold has a relay take every partition, and begin a hand-over that lasts until the test ends.
func hold(t *testing.T, o *outbox.Outbox) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	begun, over := make(chan struct{}), make(chan error, 1)
	first := true
	r := relayOf(t, o, relay.PublisherFunc(func(context.Context, relay.Message) error {
		if first { // of its key
			first = false
			close(begun)
			<-ctx.Done()
		}
		return nil
	}), &relay.Options{Order: relay.OrderPerKey, Lease: time.Hour, PublishTimeout: 30 * time.Minute})
	go func() { over <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	<-begun
}
