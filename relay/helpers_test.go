package relay_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
)

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
