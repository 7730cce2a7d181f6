package relay_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// outboxWith is an outbox in memory with events of these payloads.
func outboxWith(payloads ...string) (*sql.DB, *outbox.Outbox) {
	ctx := context.Background()
	db, err := sqlite.Open(":memory:")
	if err != nil {
		log.Fatal(err)
	}
	if err := migrations.Up(ctx, db, sqlite.New(), nil); err != nil {
		log.Fatal(err)
	}
	o, err := outbox.New(db, sqlite.New(), nil)
	if err != nil {
		log.Fatal(err)
	}
	var events []outbox.Event
	for _, p := range payloads {
		events = append(events, outbox.Event{Topic: "order.placed", Payload: []byte(p)})
	}
	err = o.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := o.Write(ctx, tx, events...)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	return db, o
}

// Run works until its context ends: give it the context that a signal ends. Events that are written meanwhile in the
// same process are handed on at once, others after the poll interval at the latest.
func Example() {
	db, o := outboxWith("lamp")
	defer db.Close()

	ctx, stop := context.WithCancel(context.Background()) // in a service: signal.NotifyContext
	r, err := relay.New(o, relay.PublisherFunc(func(ctx context.Context, m relay.Message) error {
		fmt.Println("published", string(m.Payload))
		if string(m.Payload) == "chair" {
			stop()
		}
		return nil
	}), nil)
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()

	err = o.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := o.Write(ctx, tx, outbox.Event{Topic: "order.placed", Payload: []byte("chair")})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("stopped:", <-done) // what was in hand is recorded, and the lease given back
	// Output:
	// published lamp
	// published chair
	// stopped: <nil>
}

// What a publisher returns says whose fault it was.
func ExamplePermanent() {
	db, o := outboxWith("good", "broken", "slow down")
	defer db.Close()

	r, err := relay.New(o, relay.PublisherFunc(func(ctx context.Context, m relay.Message) error {
		switch {
		case string(m.Payload) == "broken":
			return relay.Permanent(errors.New("it will never be accepted")) // a dead letter at once
		case string(m.Payload) == "slow down" && m.Attempt == 1:
			return relay.RetryAfter(10*time.Millisecond, errors.New("too many requests")) // it counts as an attempt
		}
		fmt.Printf("published %q, attempt %d\n", m.Payload, m.Attempt)
		return nil // any other error: again after Options.Backoff
	}), nil)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		if _, err := r.Drain(context.Background()); err != nil {
			log.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // an event that waits for its next try is not due for Drain
	}
	s, err := o.Stats(context.Background())
	fmt.Println("dead", s.Dead, "pending", s.Pending, err)
	// Output:
	// published "good", attempt 1
	// published "slow down", attempt 2
	// dead 1 pending 0 <nil>
}

// A destination that is down is no event's fault: no attempt is used up, and nothing becomes a dead letter however long
// it lasts. Run goes on trying; Drain returns the error.
func ExampleUnavailable() {
	db, o := outboxWith("lamp")
	defer db.Close()

	down := true
	r, err := relay.New(o, relay.PublisherFunc(func(ctx context.Context, m relay.Message) error {
		if down {
			return relay.Unavailable(errors.New("connection refused"))
		}
		fmt.Println("published", string(m.Payload), "attempt", m.Attempt)
		return nil
	}), nil)
	if err != nil {
		log.Fatal(err)
	}
	_, err = r.Drain(context.Background())
	fmt.Println(err)
	down = false
	n, err := r.Drain(context.Background())
	fmt.Println(n, err)
	// Output:
	// drain: unavailable: connection refused
	// published lamp attempt 1
	// 1 <nil>
}

// bulk is a destination that takes many events in one request, such as a broker.
type bulk struct{}

func (bulk) Publish(ctx context.Context, m relay.Message) error {
	return bulk{}.PublishBatch(ctx, []relay.Message{m})[0]
}

func (bulk) PublishBatch(ctx context.Context, ms []relay.Message) []error {
	fmt.Println("a request with", len(ms), "events")
	return make([]error, len(ms)) // one answer for each, in the same order; nil: published
}

// A Publisher that has PublishBatch too is given whole batches.
func ExampleBatchPublisher() {
	db, o := outboxWith("a", "b", "c", "d", "e")
	defer db.Close()

	r, err := relay.New(o, bulk{}, &relay.Options{Batch: 3, Concurrency: 1})
	if err != nil {
		log.Fatal(err)
	}
	n, err := r.Drain(context.Background())
	fmt.Println(n, err)
	// Output:
	// a request with 3 events
	// a request with 2 events
	// 5 <nil>
}

// counter implements the hooks that it wants to hear of, and no other.
type counter struct{ published, dead int }

func (c *counter) Published(relay.Message, time.Duration) { c.published++ }
func (c *counter) Dead(relay.Message, error)              { c.dead++ }

func ExampleObserver() {
	db, o := outboxWith("a", "bad", "c")
	defer db.Close()

	var c counter
	r, err := relay.New(o, relay.PublisherFunc(func(ctx context.Context, m relay.Message) error {
		if string(m.Payload) == "bad" {
			return relay.Permanent(errors.New("refused"))
		}
		return nil
	}), &relay.Options{Observers: []relay.Observer{&c}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := r.Drain(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", c)
	// Output: {published:2 dead:1}
}
