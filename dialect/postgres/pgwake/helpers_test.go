package pgwake

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/sqloutbox/sqloutbox/dialect/postgres"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// onPostgres runs fn on a migrated database of its own, skipped where ENGINES leaves PostgreSQL out.
func onPostgres(t *testing.T, fn func(t *testing.T, address string)) {
	address := engines.One(t, "postgres").NewDatabase(t)
	if err := migrations.Up(t.Context(), pool(t, address), postgres.New(), nil); err != nil {
		t.Fatal(err)
	}
	fn(t, address)
}

func pool(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := postgres.Open(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func newNotifier(t *testing.T, address string, opts *Options) *Notifier {
	t.Helper()
	n, err := New(address, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func newOutbox(t *testing.T, address string) *outbox.Outbox {
	t.Helper()
	o, err := outbox.New(pool(t, address), postgres.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func write(t *testing.T, o *outbox.Outbox, payload string) {
	t.Helper()
	err := o.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := o.Write(ctx, tx, outbox.Event{Topic: "t", Payload: []byte(payload)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wakes are the wake-ups that a listener hands on: more than any test has, so that none waits to be taken.
type wakes chan struct{}

func newWakes() wakes { return make(wakes, 1000) }

func (w wakes) Wake() { w <- struct{}{} }

// listen listens until stop is called or the test ends.
func listen(t *testing.T, n *Notifier, wakers ...Waker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Listen(ctx, wakers...) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Listen: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// marker is what a test itself sends, to see what has come before it.
const marker = "marker"

// ear is a plain session that listens.
type ear struct{ conn *pgx.Conn }

func newEar(t *testing.T, address, channel string) ear {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	if _, err := conn.Exec(t.Context(), "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	return ear{conn}
}

// until answers the sessions that have notified up to a marker, which it sends itself.
func (e ear) until(t *testing.T, channel string) []uint32 {
	t.Helper()
	if _, err := e.conn.Exec(t.Context(), "SELECT pg_notify($1, $2)", channel, marker); err != nil {
		t.Fatal(err)
	}
	var sessions []uint32
	for {
		notice, err := e.conn.WaitForNotification(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if notice.Payload == marker {
			return sessions
		}
		if notice.Payload != "" {
			t.Errorf("a notice says %q", notice.Payload)
		}
		sessions = append(sessions, notice.PID)
	}
}

// kill ends the session whose last statement was this one, and waits for its end.
func kill(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	var ended bool
	err := db.QueryRowContext(t.Context(), `
SELECT pg_terminate_backend(pid, 60000)
  FROM pg_stat_activity
 WHERE datname = current_database() AND query = $1`, statement).Scan(&ended)
	if err != nil || !ended {
		t.Fatalf("kill the session of %q: %v", statement, err)
	}
}
