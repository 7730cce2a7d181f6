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

func dropIndex(d dialect.Dialect, name, table string) string {
	if d.Name() == "mysql" {
		return "DROP INDEX " + name + " ON " + table
	}
	return "DROP INDEX " + name
}

// newest is the last migration that the library has.
func newest(t *testing.T, db *sql.DB, d dialect.Dialect) migrations.Step {
	t.Helper()
	steps, err := migrations.Status(t.Context(), db, d, nil)
	if err != nil || len(steps) == 0 {
		t.Fatalf("%d steps: %v", len(steps), err)
	}
	return steps[len(steps)-1]
}

// forget has the version table lack a migration.
func forget(t *testing.T, db *sql.DB, d dialect.Dialect, step migrations.Step) {
	t.Helper()
	exec(t, db, d.Bind("DELETE FROM outbox_migrations WHERE version_id = ?"), step.Version)
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
		damaged := func(statement, says string) {
			t.Helper()
			exec(t, db, statement)
			wantCheck(t, db, d, migrations.ErrSchemaDamaged, says)
		}
		damaged(dropIndex(d, "outbox_events_pending", "outbox_events"), "index outbox_events_pending on outbox_events (state, seq, partition_no)")
		if err := migrations.Up(t.Context(), db, d, nil); !errors.Is(err, migrations.ErrSchemaDamaged) {
			t.Errorf("Up: %v", err)
		}
		damaged("CREATE INDEX outbox_events_pending ON outbox_events (state, seq)", "index outbox_events_pending")
		damaged("ALTER TABLE outbox_leases DROP COLUMN lease_ms", "column outbox_leases.lease_ms")
		damaged("DROP TABLE outbox_relays", "table outbox_relays")
		for _, index := range []struct{ name, table, columns string }{
			{"outbox_held_keys", "outbox_held", "event_key, seq"},
			{"outbox_inbox_received", "outbox_inbox", "received_ms"},
			{"outbox_deliveries_due", "outbox_deliveries", "handler, state, due_ms, seq"},
			{"outbox_webhook_deliveries_due", "outbox_webhook_deliveries", "subscription_id, state, due_ms, feed_seq"},
			{"outbox_webhook_deliveries_order", "outbox_webhook_deliveries", "subscription_id, state, feed_seq"},
		} {
			damaged(dropIndex(d, index.name, index.table), "index "+index.name+" on "+index.table+" ("+index.columns+")")
		}
		for _, column := range []string{
			"outbox_held.partition_no", "outbox_pauses.since_ms", "outbox_counters.at_ms", "outbox_inbox.version", "outbox_deliveries.attempts",
			"outbox_handlers.replayed_to", "outbox_feed.published_ms", "outbox_cursors.hold_ms", "outbox_webhook_deliveries.last_status",
			"outbox_subscriptions.missed_from",
		} {
			table, name, _ := strings.Cut(column, ".")
			damaged("ALTER TABLE "+table+" DROP COLUMN "+name, "column "+column)
		}
		for _, table := range []string{"outbox_webhook_deliveries", "outbox_subscriptions", "outbox_cursors", "outbox_feed", "outbox_deliveries", "outbox_handlers", "outbox_inbox", "outbox_counters", "outbox_pauses", "outbox_held", "outbox_leases", "outbox_events"} {
			damaged("DROP TABLE "+table, "table "+table)
		}
	})
}

// unharmed fails the test unless Check finds nothing.
func unharmed(t *testing.T, db *sql.DB, d dialect.Dialect) {
	t.Helper()
	if err := migrations.Check(t.Context(), db, d, nil); err != nil {
		t.Error(err)
	}
}

func TestCheckMissesTheUniqueID(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		switch d.Name() {
		case "postgres":
			exec(t, db, "ALTER TABLE outbox_events DROP CONSTRAINT outbox_events_id_key")
		case "mysql":
			exec(t, db, dropIndex(d, "outbox_events_id", "outbox_events"))
		default: // a table without it, with all else
			ddl := one[string](t, db, "SELECT sql FROM sqlite_schema WHERE name = 'outbox_events'")
			exec(t, db, "DROP TABLE outbox_events")
			exec(t, db, strings.Replace(ddl, "NOT NULL UNIQUE", "NOT NULL", 1))
			exec(t, db, "CREATE INDEX outbox_events_pending ON outbox_events (state, seq, partition_no)")
			exec(t, db, "CREATE INDEX outbox_events_due ON outbox_events (state, due_ms, seq)")
		}
		wantCheck(t, db, d, migrations.ErrSchemaDamaged, "unique index on outbox_events (id)")
		exec(t, db, "CREATE UNIQUE INDEX anything ON outbox_events (id)")
		unharmed(t, db, d)
	})
}

func TestCheckMissesTheUniqueMessage(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		exec(t, db, "DROP TABLE outbox_inbox")
		exec(t, db, "CREATE TABLE outbox_inbox (consumer VARCHAR(9), message_id VARCHAR(9), received_ms BIGINT, version BIGINT)")
		exec(t, db, "CREATE INDEX outbox_inbox_received ON outbox_inbox (received_ms)")
		exec(t, db, "CREATE UNIQUE INDEX other ON outbox_inbox (message_id)")
		wantCheck(t, db, d, migrations.ErrSchemaDamaged, "unique index on outbox_inbox (message_id, consumer)")
		exec(t, db, "CREATE UNIQUE INDEX anything ON outbox_inbox (message_id, consumer)")
		unharmed(t, db, d)
	})
}

func TestCheckTellsBehindFromAhead(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		up(t, db, d, nil)
		last := newest(t, db, d)
		forget(t, db, d, last)
		wantCheck(t, db, d, migrations.ErrSchemaBehind, last.Name, "run migrations.Up")
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
		unharmed(t, db, d)
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
