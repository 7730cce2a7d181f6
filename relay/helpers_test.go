package relay_test

import (
	"context"
	"database/sql"
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
