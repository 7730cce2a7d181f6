package relay_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

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
		if state, attempts := stateOf(t, o, "e"); state != 0 || attempts != 0 {
			t.Errorf("state %d after %d attempts, want it pending and not charged", state, attempts)
		}
		drain(t, relayOf(t, o, relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }), &opts), 1)
	})
}

// stopBesideStuck stops a relay whose one call does not return: it says so, and nobody else gets the event before the lease is over.
func stopBesideStuck(t *testing.T, o *outbox.Outbox, opts relay.Options) {
	t.Helper()
	opts.Lease, opts.Backoff, opts.BackoffMax = time.Hour, time.Hour, time.Hour
	entered, open := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(open) })
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
	other := relayOf(t, o, relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
		t.Errorf("another handed %s over", m.ID)
		return nil
	}), &opts)
	if n, err := other.RunOnce(t.Context()); n != 0 || err != nil {
		t.Errorf("another: %d, %v", n, err)
	}
}

// A call that does not return holds what it was given, also when Run has returned.
func TestAStopBesideACallThatDoesNotReturnGivesNothingBack(t *testing.T) {
	eachOrder(t, func(t *testing.T, o *outbox.Outbox, order relay.Order) {
		stopBesideStuck(t, o, relay.Options{Order: order, PublishTimeout: 50 * time.Millisecond, ShutdownTimeout: 50 * time.Millisecond})
	})
}

// It is not charged where its own time was not over.
func TestACallThatDoesNotReturnAtTheEndIsNotChargedBeforeItsTime(t *testing.T) {
	eachOrder(t, func(t *testing.T, o *outbox.Outbox, order relay.Order) {
		stopBesideStuck(t, o, relay.Options{Order: order, PublishTimeout: 10 * time.Second, ShutdownTimeout: 10 * time.Millisecond, MaxAttempts: 1})
		if state, attempts := stateOf(t, o, "e"); state != 0 || attempts != 0 {
			t.Errorf("state %d after %d attempts, want it pending and not charged", state, attempts)
		}
	})
}
