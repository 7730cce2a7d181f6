package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqloutbox/sqloutbox/dialect/postgres"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// migrated is the address of a database with the outbox's tables.
func migrated(t *testing.T) string {
	t.Helper()
	address := engines.One(t, "postgres").NewDatabase(t)
	db, err := postgres.Open(address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := migrations.Up(t.Context(), db, postgres.New(), nil); err != nil {
		t.Fatal(err)
	}
	return address
}

func TestATransactionOfPgxTakesEvents(t *testing.T) {
	address := migrated(t)
	db, err := postgres.Open(address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	box, err := outbox.New(db, postgres.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())

	write := func(id string, end func(*postgres.Tx) error) {
		t.Helper()
		native, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tx := postgres.WrapTx(native)
		event := outbox.Event{ID: id, Topic: "topic", Payload: []byte{0, 1, 0xff}, Headers: map[string]string{"a": "b"}}
		if _, err := box.Write(t.Context(), tx, event); err != nil {
			t.Fatal(err)
		}
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "SELECT 1"); !errors.Is(err, sql.ErrTxDone) || !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("after the end: %v, want sql.ErrTxDone and pgx.ErrTxClosed", err)
		}
	}
	write("committed", (*postgres.Tx).Commit)
	write("rolled back", (*postgres.Tx).Rollback)

	var id string
	var payload []byte
	if err := db.QueryRow("SELECT id, payload FROM outbox_events").Scan(&id, &payload); err != nil {
		t.Fatal(err)
	}
	if id != "committed" || string(payload) != "\x00\x01\xff" {
		t.Errorf("the outbox holds %q with %q", id, payload)
	}
}

func TestWrapTxCountsRowsAndHasNoInsertID(t *testing.T) {
	address := migrated(t)
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	native, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx := postgres.WrapTx(native)
	defer tx.Rollback()
	result, err := tx.ExecContext(t.Context(), "INSERT INTO outbox_leases (name) VALUES ($1), ($2)", "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if n, err := result.RowsAffected(); n != 2 || err != nil {
		t.Errorf("rows affected: %d, %v", n, err)
	}
	if _, err := result.LastInsertId(); err == nil {
		t.Error("there is a last insert id")
	}
}

func TestOpenRefusesABadDSN(t *testing.T) {
	for _, dsn := range []string{"postgres://h:port/db", "host=h port=port", "postgres://h/db?sslmode=perhaps"} {
		if db, err := postgres.Open(dsn); err == nil || db != nil {
			t.Errorf("%s: no error", dsn)
		}
	}
}
