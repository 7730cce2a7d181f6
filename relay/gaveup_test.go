package relay_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// started runs a relay; stop ends it and answers what Run returned.
func started(t *testing.T, r *relay.Relay) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	var once sync.Once
	var err error
	stop = func() error {
		once.Do(func() {
			cancel()
			err = <-ended
		})
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// row is what became of an event.
func row(t *testing.T, o *outbox.Outbox, id string) (state, attempts int) {
	t.Helper()
	err := o.DB().QueryRow("SELECT state, attempts FROM outbox_events WHERE id = '"+id+"'").Scan(&state, &attempts)
	if err != nil {
		t.Fatal(err)
	}
	return state, attempts
}

// What the relay cuts off at its end has all of the grace (5 s) to return, though it had been running for longer than that.
func TestACallThatIsCutOffAtTheEndHasTheGraceToReturn(t *testing.T) {
	eachOrder(t, func(t *testing.T, o *outbox.Outbox, order relay.Order) {
		opts := relay.Options{Order: order, PublishTimeout: time.Minute, ShutdownTimeout: 5100 * time.Millisecond, MaxAttempts: 1}
		entered := make(chan struct{})
		r := relayOf(t, o, relay.PublisherFunc(func(ctx context.Context, _ relay.Message) error {
			close(entered)
			<-ctx.Done()
			time.Sleep(1200 * time.Millisecond) // two looks at what does not return, and less than the grace
			return context.Cause(ctx)
		}), &opts)
		write(t, o, outbox.Event{ID: "e", Topic: "t", Key: "k"})
		stop := started(t, r)
		<-entered
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		if state, attempts := row(t, o, "e"); state != 0 || attempts != 0 {
			t.Errorf("state %d after %d attempts, want it pending and not charged", state, attempts)
		}
		drain(t, relayOf(t, o, relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }), &opts), 1)
	})
}

// One that does not return in that time either is not charged: its own time was not over. Nobody else gets it for a lease.
func TestACallThatDoesNotReturnAtTheEndIsNotChargedBeforeItsTime(t *testing.T) {
	eachOrder(t, func(t *testing.T, o *outbox.Outbox, order relay.Order) {
		opts := relay.Options{Order: order, Lease: time.Hour, PublishTimeout: 2 * time.Second, ShutdownTimeout: 10 * time.Millisecond, MaxAttempts: 1}
		entered, open := make(chan struct{}), make(chan struct{})
		defer close(open)
		r := relayOf(t, o, relay.PublisherFunc(func(context.Context, relay.Message) error {
			close(entered)
			<-open // whatever the context says
			return nil
		}), &opts)
		write(t, o, outbox.Event{ID: "e", Topic: "t", Key: "k"})
		stop := started(t, r)
		<-entered
		if err := stop(); !errors.Is(err, relay.ErrStuck) {
			t.Errorf("Run: %v, want ErrStuck", err)
		}
		if state, attempts := row(t, o, "e"); state != 0 || attempts != 0 {
			t.Errorf("state %d after %d attempts, want it pending and not charged", state, attempts)
		}
		other := relayOf(t, o, relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
			t.Errorf("another handed %s over", m.ID)
			return nil
		}), &opts)
		if n, err := other.RunOnce(t.Context()); n != 0 || err != nil {
			t.Errorf("another: %d, %v", n, err)
		}
	})
}

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
		stop := started(t, r)
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
		if err := stop(); err != nil && !errors.Is(err, relay.ErrStuck) {
			t.Errorf("Run: %v", err)
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
		stop := started(t, relayOf(t, o, publisher, &opts))
		<-entered
		until(t, "it was given up", func() bool { _, attempts := row(t, o, "first"); return attempts > 0 })
		stopOther := started(t, relayOf(t, o, publisher, &opts))
		until(t, "another has its share", func() bool {
			var owners int
			err := o.DB().QueryRow("SELECT COUNT(DISTINCT owner) FROM outbox_leases WHERE owner <> ''").Scan(&owners)
			return err == nil && owners == 2
		})
		time.Sleep(200 * time.Millisecond)
		close(open)
		until(t, "both are published", func() bool { s, err := o.Stats(t.Context()); return err == nil && s.Pending == 0 })
		for _, err := range []error{stop(), stopOther()} {
			if err != nil && !errors.Is(err, relay.ErrStuck) {
				t.Errorf("Run: %v", err)
			}
		}
	})
}

// More dead letters of a key than a turn takes are put back before an event of it whose call takes long. Others get on meanwhile.
func TestWhatIsPutBackBeforeASlowCallKeepsNoOtherKeyWaiting(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		entered, open := make(chan struct{}), make(chan struct{})
		defer func() {
			if open != nil {
				close(open)
			}
		}()
		var mu sync.Mutex
		var got []string
		r := relayOf(t, o, relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
			if m.ID == "slow" {
				close(entered)
				<-open
			}
			mu.Lock()
			defer mu.Unlock()
			got = append(got, m.ID)
			return nil
		}), &relay.Options{Batch: 5, Poll: 10 * time.Millisecond})
		var dead []string
		for i := range 20 {
			id := fmt.Sprintf("dead-%02d", i)
			dead = append(dead, id)
			write(t, o, outbox.Event{ID: id, Topic: "dead", Key: "k"})
		}
		if _, err := o.DB().Exec("UPDATE outbox_events SET state = 2, attempts = 1, settled_ms = 1"); err != nil {
			t.Fatal(err)
		}
		write(t, o, outbox.Event{ID: "slow", Topic: "t", Key: "k"})
		stop := started(t, r)
		<-entered
		time.Sleep(1200 * time.Millisecond) // until it counts as slow
		if n, err := o.RequeueMatching(t.Context(), outbox.DeadLetterQuery{Topic: "dead"}); n != 20 || err != nil {
			t.Fatalf("%d put back, %v", n, err)
		}
		time.Sleep(100 * time.Millisecond)
		write(t, o, outbox.Event{ID: "other", Topic: "t", Key: "other"})
		until(t, "the other key gets on", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Contains(got, "other")
		})
		close(open)
		open = nil
		until(t, "all are published", func() bool { s, err := o.Stats(t.Context()); return err == nil && s.Pending == 0 })
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		if want := slices.Concat([]string{"other", "slow"}, dead); !slices.Equal(got, want) {
			t.Errorf("handed over %q, want %q", got, want)
		}
	})
}

// What stands behind a first one that failed is not due before it is.
func TestDrainBesideAnOwnerEndsWhereTheFirstWaitsForItsNextTry(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		opts := relay.Options{Order: relay.OrderTotal, Backoff: time.Hour, BackoffMax: time.Hour, Poll: 10 * time.Millisecond, PollMax: 50 * time.Millisecond}
		publisher := relay.PublisherFunc(func(context.Context, relay.Message) error { return errors.New("no") })
		stop := started(t, relayOf(t, o, publisher, &opts))
		write(t, o, outbox.Event{ID: "first", Topic: "t"}, outbox.Event{Topic: "t"})
		until(t, "the first has failed", func() bool { _, attempts := row(t, o, "first"); return attempts == 1 })
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if n, err := relayOf(t, o, publisher, &opts).Drain(ctx); n != 0 || err != nil {
			t.Errorf("%d published, %v", n, err)
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// More is due at once than a look has time for: half a Poll, and no more than a look may take in all.
func TestAMassThatIsDueAtOnceIsPublishedWhileItIsMadePending(t *testing.T) {
	const many = 8000 // some looks are made before the first call has counted what is left
	for name, c := range map[string]struct{ poll, each time.Duration }{"a short Poll": {time.Nanosecond, 0}, "a long Poll": {20 * time.Second, 200 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			eachOrder(t, func(t *testing.T, o *outbox.Outbox, order relay.Order) {
				events := make([]outbox.Event, many)
				for i := range events {
					events[i] = outbox.Event{Topic: "t", Key: fmt.Sprint(i % 7), Delay: time.Hour}
				}
				write(t, o, events...)
				if _, err := o.DB().Exec("UPDATE outbox_events SET due_ms = 1"); err != nil {
					t.Fatal(err)
				}
				db := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(query string) error {
					if strings.Contains(query, "SET state = 0 WHERE seq") {
						time.Sleep(c.each) // a slow database
					}
					return nil
				}})
				defer db.Close()
				var left atomic.Int64
				r := relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(context.Context, relay.Message) error {
					if left.Load() == 0 {
						var n int64
						if err := o.DB().QueryRow("SELECT COUNT(*) FROM outbox_events WHERE state = 3").Scan(&n); err != nil {
							t.Error(err)
						}
						left.Store(n)
					}
					return nil
				}), &relay.Options{Order: order, Poll: c.poll, PollMax: 30 * time.Second, Lease: 6 * time.Second})
				drain(t, r, many)
				if left.Load() == 0 {
					t.Error("all were made pending before the first was handed over")
				}
			})
		})
	}
}

// A relay registers and takes a partition in the moment in which another waits for that row's lock: what the other's statement saw
// when it began tells nothing of that relay.
func TestAPartitionIsNotTakenFromOneThatRegisteredMeanwhile(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		if e.Name == "sqlite" {
			return // it has one writer, and nobody's statement waits for a row
		}
		o := newOutbox(t, e)
		opts := relay.Options{Poll: 10 * time.Millisecond, Lease: time.Minute}
		publisher := relay.PublisherFunc(func(context.Context, relay.Message) error { return nil })
		drain(t, relayOf(t, o, publisher, &opts), 0) // partitions are made
		tx, err := o.DB().Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		now := time.Now().UnixMilli()
		for _, statement := range []string{
			"UPDATE outbox_leases SET owner = 'x' WHERE name LIKE 'key/%'",
			fmt.Sprintf("INSERT INTO outbox_relays (id, order_name, seen_ms, until_ms) VALUES ('x', 'per_key', %d, %d)", now, now+60_000),
		} {
			if _, err := tx.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		stop := started(t, relayOf(t, o, publisher, &opts))
		time.Sleep(500 * time.Millisecond) // it has registered, and waits for the rows
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		var others []string
		rows, err := o.DB().Query("SELECT name FROM outbox_leases WHERE owner <> 'x' AND name LIKE 'key/%'")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				t.Fatal(err)
			}
			others = append(others, name)
		}
		if len(others) > 0 {
			t.Errorf("taken from a relay that lives: %s", strings.Join(others, " "))
		}
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
