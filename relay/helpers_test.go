package relay_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

var allOrders = []relay.Order{relay.OrderTotal, relay.OrderPerKey, relay.OrderNone}

// newOutbox is an outbox in an empty database of its own.
func newOutbox(t testing.TB, e *engines.Engine) *outbox.Outbox {
	t.Helper()
	db, d := e.Migrated(t)
	o, err := outbox.New(db, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// outboxOn is the same outbox on another pool.
func outboxOn(t testing.TB, db *sql.DB, o *outbox.Outbox) *outbox.Outbox {
	t.Helper()
	on, err := outbox.New(db, o.Dialect(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return on
}

// write commits events.
func write(t testing.TB, o *outbox.Outbox, events ...outbox.Event) {
	t.Helper()
	err := o.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := o.Write(ctx, tx, events...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// handlersOf are these.
func handlersOf(t testing.TB, o *outbox.Outbox, opts *relay.HandlersOptions, all ...relay.Handler) *relay.Handlers {
	t.Helper()
	h, err := relay.NewHandlers(o, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if err := h.Add(one); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// relayOf is a relay.
func relayOf(t testing.TB, o *outbox.Outbox, p relay.Publisher, opts *relay.Options) *relay.Relay {
	t.Helper()
	r, err := relay.New(o, p, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// drain has a relay publish so many events.
func drain(t testing.TB, r *relay.Relay, want int) {
	t.Helper()
	if n, err := r.Drain(t.Context()); n != want || err != nil {
		t.Fatalf("%d published, %v, want %d", n, err, want)
	}
}

// started runs a relay until stop is called, which answers what Run returned, or the test ends.
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

// running runs a relay until stop is called.
func running(t *testing.T, r *relay.Relay) (stop func()) {
	t.Helper()
	return endsWell(t, started(t, r), nil)
}

// runningStuck runs a relay that may end beside a call that does not return.
func runningStuck(t *testing.T, r *relay.Relay) (stop func()) {
	t.Helper()
	return endsWell(t, started(t, r), relay.ErrStuck)
}

func endsWell(t *testing.T, stop func() error, may error) func() {
	return func() {
		if err := stop(); err != nil && !errors.Is(err, may) {
			t.Error(err)
		}
	}
}

// locked locks all events, as a host may, until release is called.
func locked(t *testing.T, o *outbox.Outbox) (release func()) {
	t.Helper()
	tx, err := o.DB().Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("SELECT seq FROM outbox_events FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback() } // a second one changes nothing
}

// stateOf is what became of an event.
func stateOf(t *testing.T, o *outbox.Outbox, id string) (state, attempts int) {
	t.Helper()
	err := o.DB().QueryRow("SELECT state, attempts FROM outbox_events WHERE id = '"+id+"'").Scan(&state, &attempts)
	if err != nil {
		t.Fatal(err)
	}
	return state, attempts
}
