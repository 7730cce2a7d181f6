package relay_test

import (
	"context"
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

// Calls that do not return keep their places, though the outbox was empty in between.
func TestCallsThatDoNotReturnKeepTheirPlaces(t *testing.T) {
	eachOrder(t, func(t *testing.T, o *outbox.Outbox, order relay.Order) {
		if order == relay.OrderTotal {
			return // it has one place, and no lease beside a call that does not return
		}
		var inside atomic.Int64
		open := make(chan struct{})
		r := relayOf(t, o, relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
			if m.Topic == "hangs" {
				inside.Add(1)
				defer inside.Add(-1)
				<-open
			}
			return nil
		}), &relay.Options{Order: order, Concurrency: 2, PublishTimeout: 50 * time.Millisecond, Lease: time.Second, Poll: 10 * time.Millisecond})
		stop := runningStuck(t, r)
		for i := range 2 {
			write(t, o, outbox.Event{ID: fmt.Sprint("hangs ", i), Topic: "hangs", Key: fmt.Sprint(i)})
			until(t, "it was given up", func() bool {
				var n int
				err := o.DB().QueryRow("SELECT COUNT(*) FROM outbox_events WHERE attempts > 0 AND last_error <> ''").Scan(&n)
				return err == nil && n == i+1
			})
		}
		write(t, o, outbox.Event{ID: "third", Topic: "hangs", Key: "third"})
		for range 30 {
			if n := inside.Load(); n > 2 {
				t.Fatalf("%d calls at once, want 2", n)
			}
			time.Sleep(20 * time.Millisecond)
		}
		close(open)
		until(t, "it goes on when they have returned", func() bool {
			_, _ = o.DB().Exec("UPDATE outbox_events SET due_ms = 1 WHERE state IN (0, 5) AND claimed_by = ''")
			s, err := o.Stats(t.Context())
			return err == nil && s.Pending == 0
		})
		stop()
	})
}

// All places are taken by calls that do not return. When one of them has returned, the relay goes on beside the others.
func TestARelayGoesOnOnceOneOfItsPlacesIsFree(t *testing.T) {
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range perKeyAndNone {
			t.Run(order.String(), func(t *testing.T) {
				t.Parallel() // most of it is waiting
				o := newOutbox(t, e)
				hangs := map[string]chan struct{}{"one": make(chan struct{}), "two": make(chan struct{})}
				r := relayOf(t, o, relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
					if open := hangs[m.ID]; open != nil {
						<-open
					}
					return nil
				}), &relay.Options{Order: order, Concurrency: 2, PublishTimeout: time.Second, Lease: time.Second, Poll: 10 * time.Millisecond,
					Backoff: time.Hour, BackoffMax: time.Hour})
				defer close(hangs["one"])
				defer runningStuck(t, r)()
				write(t, o, outbox.Event{ID: "one", Topic: "t", Key: "1"}, outbox.Event{ID: "two", Topic: "t", Key: "2"})
				until(t, "the session has ended", func() bool {
					var n int
					err := o.DB().QueryRow("SELECT COUNT(*) FROM outbox_events WHERE attempts > 0 AND last_error <> ''").Scan(&n)
					relays, err2 := o.Relays(t.Context())
					return err == nil && err2 == nil && n == 2 && len(relays) == 0
				})
				write(t, o, outbox.Event{ID: "three", Topic: "t", Key: "3"})
				close(hangs["two"])
				until(t, "it goes on", func() bool {
					var n int
					return o.DB().QueryRow("SELECT COUNT(*) FROM outbox_events WHERE id = 'three'").Scan(&n) == nil && n == 0
				})
			})
		}
	})
}

// A look fails beside a call that does not return: what it holds is not freed.
func TestADrainThatFailsBesideACallThatDoesNotReturnFreesNothing(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		var given atomic.Bool
		db := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(query string) error {
			switch {
			case strings.Contains(query, "SET state = 5"):
				given.Store(true)
			case given.Load() && strings.Contains(query, "outbox_pauses"):
				return errNo
			}
			return nil
		}})
		defer db.Close()
		open := make(chan struct{})
		defer close(open)
		r := relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(context.Context, relay.Message) error { <-open; return nil }),
			&relay.Options{PublishTimeout: 50 * time.Millisecond, Lease: time.Hour})
		write(t, o, outbox.Event{Topic: "t", Key: "k"})
		if _, err := r.Drain(t.Context()); !errors.Is(err, relay.ErrStuck) || !errors.Is(err, errNo) {
			t.Errorf("Drain: %v, want ErrStuck and why it failed", err)
		}
		var owned int
		if err := o.DB().QueryRow("SELECT COUNT(*) FROM outbox_leases WHERE owner <> ''").Scan(&owned); err != nil || owned != outbox.Partitions {
			t.Errorf("%d partitions are owned, %v; want all", owned, err)
		}
	})
}

// Its key could be handed over by another beside it.
func TestAPartitionWithACallThatDoesNotReturnIsNotGivenBack(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		key := "k"
		for i := 0; outbox.Partition(key) < outbox.Partitions-1; i++ { // the first that another would get
			key = fmt.Sprint("k", i)
		}
		entered, open := make(chan struct{}), make(chan struct{})
		var inside atomic.Bool
		publisher := relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
			switch {
			case m.ID == "first" && m.Attempt == 1:
				inside.Store(true)
				close(entered)
				<-open
				inside.Store(false)
			case m.Key == key && inside.Load():
				t.Errorf("%s was handed over beside the first", m.ID)
			}
			return nil
		})
		opts := relay.Options{PublishTimeout: 50 * time.Millisecond, Poll: 10 * time.Millisecond, Backoff: time.Millisecond, BackoffMax: 10 * time.Millisecond}
		write(t, o, outbox.Event{ID: "first", Topic: "t", Key: key}, outbox.Event{ID: "second", Topic: "t", Key: key})
		defer runningStuck(t, relayOf(t, o, publisher, &opts))()
		<-entered
		until(t, "it was given up", func() bool { _, attempts := stateOf(t, o, "first"); return attempts > 0 })
		defer runningStuck(t, relayOf(t, o, publisher, &opts))()
		until(t, "another has its share", func() bool {
			var owners int
			err := o.DB().QueryRow("SELECT COUNT(DISTINCT owner) FROM outbox_leases WHERE owner <> ''").Scan(&owners)
			return err == nil && owners == 2
		})
		time.Sleep(200 * time.Millisecond) // it would be handed over meanwhile
		close(open)
		until(t, "both are published", func() bool { s, err := o.Stats(t.Context()); return err == nil && s.Pending == 0 })
	})
}
