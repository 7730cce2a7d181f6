package migrations_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/migrations"
)

func wantCheck(t *testing.T, db *sql.DB, d dialect.Dialect, sentinel error, parts ...string) {
	t.Helper()
	err := migrations.Check(t.Context(), db, d, nil)
	if !errors.Is(err, sentinel) {
		t.Errorf("got %v, want %v", err, sentinel)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: doesn't say %q", err, part)
		}
	}
}

func dropIndex(d dialect.Dialect, name string) string {
	if d.Name() == "mysql" {
		return "DROP INDEX " + name + " ON outbox_events"
	}
	return "DROP INDEX " + name
}

func TestCheckWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		wantCheck(t, db, d, migrations.ErrSchemaMissing, "outbox_events", "run migrations.Up")
		if made := tables(t, db, d); len(made) != 0 {
			t.Errorf("Check made %v", made)
		}
	})
}

func TestCheckNamesWhatIsDamaged(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		exec(t, db, dropIndex(d, "outbox_events_pending"))
		wantCheck(t, db, d, migrations.ErrSchemaDamaged, "index outbox_events_pending on outbox_events (state, seq, partition_no)")
		if err := migrations.Up(t.Context(), db, d, nil); !errors.Is(err, migrations.ErrSchemaDamaged) {
			t.Errorf("Up: %v", err)
		}
		exec(t, db, "CREATE INDEX outbox_events_pending ON outbox_events (state, seq)")
		wantCheck(t, db, d, migrations.ErrSchemaDamaged, "index outbox_events_pending")
		exec(t, db, "ALTER TABLE outbox_leases DROP COLUMN lease_ms")
		wantCheck(t, db, d, migrations.ErrSchemaDamaged, "column outbox_leases.lease_ms")
		exec(t, db, "DROP TABLE outbox_relays")
		wantCheck(t, db, d, migrations.ErrSchemaDamaged, "table outbox_relays")
		exec(t, db, "DROP TABLE outbox_leases")
		exec(t, db, "DROP TABLE outbox_events")
		wantCheck(t, db, d, migrations.ErrSchemaDamaged, "table outbox_events")
	})
}

func TestCheckMissesTheUniqueID(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		switch d.Name() {
		case "postgres":
			exec(t, db, "ALTER TABLE outbox_events DROP CONSTRAINT outbox_events_id_key")
		case "mysql":
			exec(t, db, dropIndex(d, "outbox_events_id"))
		default: // a table without it, with all else
			ddl := one[string](t, db, "SELECT sql FROM sqlite_schema WHERE name = 'outbox_events'")
			exec(t, db, "DROP TABLE outbox_events")
			exec(t, db, strings.Replace(ddl, "NOT NULL UNIQUE", "NOT NULL", 1))
			exec(t, db, "CREATE INDEX outbox_events_pending ON outbox_events (state, seq, partition_no)")
			exec(t, db, "CREATE INDEX outbox_events_due ON outbox_events (state, due_ms, seq)")
		}
		wantCheck(t, db, d, migrations.ErrSchemaDamaged, "unique index on outbox_events (id)")
		exec(t, db, "CREATE UNIQUE INDEX anything ON outbox_events (id)")
		if err := migrations.Check(t.Context(), db, d, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestCheckTellsBehindFromAhead(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		exec(t, db, "DELETE FROM outbox_migrations WHERE version_id = 5")
		wantCheck(t, db, d, migrations.ErrSchemaBehind, "00005_relays.sql", "run migrations.Up")
		up(t, db, d, nil)

		exec(t, db, "INSERT INTO outbox_migrations (version_id, is_applied) VALUES (99, TRUE)")
		wantCheck(t, db, d, migrations.ErrSchemaAhead, "99")
		if err := migrations.Check(t.Context(), db, d, nil); errors.Is(err, migrations.ErrSchemaDamaged) {
			t.Errorf("all that is needed is there: %v", err)
		}
		// A rolling upgrade starts old programs on the new schema.
		up(t, db, d, nil)
		if err := migrations.Down(t.Context(), db, d, nil); !errors.Is(err, migrations.ErrSchemaAhead) {
			t.Errorf("Down: %v", err)
		}

		exec(t, db, "ALTER TABLE outbox_leases DROP COLUMN lease_ms")
		wantCheck(t, db, d, migrations.ErrSchemaAhead, "lease_ms", "newer version of the library")
		wantCheck(t, db, d, migrations.ErrSchemaDamaged)
	})
}

// What a later release adds, and what a host adds, is no fault.
func TestCheckMindsNothingThatIsAdded(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		exec(t, db, "ALTER TABLE outbox_events ADD COLUMN extra BIGINT NOT NULL DEFAULT 0")
		exec(t, db, "CREATE INDEX extra ON outbox_events (topic)")
		exec(t, db, "CREATE TABLE outbox_extra (id BIGINT)")
		if err := migrations.Check(t.Context(), db, d, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestCheckShowsTheDriversError(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		db.Close()
		err := migrations.Check(t.Context(), db, d, nil)
		if err == nil || errors.Is(err, migrations.ErrSchemaMissing) {
			t.Errorf("an error was taken for a missing table: %v", err)
		}
	})
}
