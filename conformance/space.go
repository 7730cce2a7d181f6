package conformance

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/sqltext"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// space is the database that cases run in, one after the other.
type space struct {
	h    Harness
	open func() (*sql.DB, error)
	db   *sql.DB
	sql  *sqltext.Renderer

	remains sync.WaitGroup // of relays that were cut off from the database for good
}

var libraryTables = []string{
	"{events}", "{leases}", "{relays}", "{held}", "{pauses}", "{counters}", "{inbox}", "{handlers}", "{deliveries}",
	"{feed}", "{cursors}", "{subscriptions}", "{webhook_deliveries}",
}

// A table of the host's: what a business change goes to.
const hostTable = `CREATE TABLE conformance_host (id BIGINT NOT NULL PRIMARY KEY, n BIGINT NOT NULL)`

func newSpace(t testing.TB, h Harness) *space {
	t.Helper()
	if h.Dialect == nil || h.NewDatabase == nil {
		t.Fatal("a Harness needs a Dialect and NewDatabase")
	}
	if h.Patience == 0 {
		h.Patience = 30 * time.Second
	}
	if h.Migrate == nil {
		h.Migrate = func(ctx context.Context, db *sql.DB) error { return migrations.Up(ctx, db, h.Dialect, nil) }
	}
	s := &space{h: h, open: h.NewDatabase(t), sql: sqltext.New(h.Dialect, "", "outbox_")}
	s.db = s.pool(t)
	t.Cleanup(s.remains.Wait)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.Migrate(ctx, s.db); err != nil {
		t.Fatalf("make the tables: %v", err)
	}
	if _, err := s.db.ExecContext(ctx, hostTable); err != nil {
		t.Fatalf("make the host's table: %v", err)
	}
	return s
}

// pool opens a pool that is closed when t ends.
func (s *space) pool(t testing.TB) *sql.DB {
	t.Helper()
	db, err := s.open()
	if err != nil {
		t.Fatalf("open a pool: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// run runs one case on empty tables and looks the tables over when everything that it started has ended.
func (s *space) run(t testing.TB, c Case) {
	t.Helper()
	s.empty(t)
	t.Cleanup(func() {
		if !t.Failed() {
			s.checkTables(t)
		}
	})
	o, err := outbox.New(s.db, s.h.Dialect, nil)
	if err != nil {
		t.Fatalf("make an outbox: %v", err)
	}
	c.run(&env{TB: t, space: s, o: o})
}

func (s *space) empty(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, table := range append(slices.Clone(libraryTables), "conformance_host") {
		text := "DELETE FROM " + table
		if _, err := s.db.ExecContext(ctx, s.sql.SQL(text)); err != nil {
			t.Fatalf("empty the tables: %v", err)
		}
	}
}
