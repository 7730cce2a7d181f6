package migrations_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/migrations"
)

func TestUpMakesTheTablesAndDownRemovesThem(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		db.SetMaxOpenConns(1)
		before := tables(t, db, d)
		for range 2 {
			up(t, db, d, nil)
			up(t, db, d, nil)
			if err := migrations.Check(t.Context(), db, d, nil); err != nil {
				t.Error(err)
			}
			insert(t, db, d, "outbox_", "an event")
			up(t, db, d, nil)
			if n := one[int](t, db, "SELECT COUNT(*) FROM outbox_events"); n != 1 {
				t.Errorf("%d events after another Up", n)
			}
			for range 2 {
				if err := migrations.Down(t.Context(), db, d, nil); err != nil {
					t.Fatal(err)
				}
			}
			if after := tables(t, db, d); !slices.Equal(after, before) {
				t.Errorf("Down left %v", after)
			}
			if err := migrations.Check(t.Context(), db, d, nil); !errors.Is(err, migrations.ErrSchemaMissing) {
				t.Errorf("after Down: %v", err)
			}
		}
		if n := db.Stats().InUse; n != 0 {
			t.Errorf("%d connections are still in use", n)
		}
	})
}

// insert is what a writer in any language may do.
func insert(t *testing.T, db *sql.DB, d dialect.Dialect, qualifier, id string) {
	t.Helper()
	exec(t, db, d.Bind("INSERT INTO "+qualifier+"events (id, topic, payload) VALUES (?, ?, ?)"), id, "topic", []byte("payload"))
}

// tables are all tables of the database, with the schema where it is not the default.
func tables(t *testing.T, db *sql.DB, d dialect.Dialect) []string {
	t.Helper()
	query := map[string]string{
		"postgres": "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1",
		"mysql":    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1",
		"sqlite":   "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence' ORDER BY 1",
	}[d.Name()]
	return column[string](t, db, query)
}

func TestStatusListsTheSteps(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		status := func() []migrations.Step {
			steps, err := migrations.Status(t.Context(), db, d, nil)
			if err != nil {
				t.Fatal(err)
			}
			return steps
		}
		before := tables(t, db, d)
		for _, step := range status() {
			if step.Applied || step.Name == "" {
				t.Errorf("on an empty database: %+v", step)
			}
		}
		if after := tables(t, db, d); !slices.Equal(after, before) {
			t.Errorf("Status made %v", after)
		}
		up(t, db, d, nil)
		steps := status()
		for _, step := range steps {
			if !step.Applied {
				t.Errorf("after Up: %+v", step)
			}
		}
		if first := steps[0]; first.Version != 1 || first.Name != "00001_events.sql" {
			t.Errorf("the first step is %+v", first)
		}
		exec(t, db, "INSERT INTO outbox_migrations (version_id, is_applied) VALUES (999, TRUE)")
		if got := status(); len(got) != len(steps)+1 || got[len(steps)] != (migrations.Step{Version: 999, Applied: true}) {
			t.Errorf("after a newer library's Up: %+v", got)
		}
	})
}

func TestUpEndsWithItsContext(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := migrations.Up(ctx, db, d, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		up(t, db, d, nil)
	})
}

func TestOptionsAreValidated(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		bad := []migrations.Options{
			{Prefix: "1box_"}, {Prefix: "a-b"}, {Prefix: `a"`}, {Prefix: "a b"}, {Prefix: "é_"}, {Prefix: "a.b"}, {Prefix: "a;"},
			{Prefix: strings.Repeat("a", 33)}, {Schema: "a.b"}, {Schema: `"x"`}, {Schema: strings.Repeat("a", 64)},
			{Schema: "Billing"}, {Schema: "order"}, {Schema: "user"},
		}
		if d.Name() != "postgres" {
			bad = append(bad, migrations.Options{Schema: "public"})
		}
		for _, opts := range bad {
			_, sqlErr := migrations.SQL(d, &opts)
			_, statusErr := migrations.Status(t.Context(), db, d, &opts)
			for _, err := range []error{
				migrations.Up(t.Context(), db, d, &opts), migrations.Down(t.Context(), db, d, &opts),
				migrations.Check(t.Context(), db, d, &opts), sqlErr, statusErr,
			} {
				if !errors.Is(err, migrations.ErrInvalidOptions) {
					t.Errorf("%+v: %v", opts, err)
				}
			}
		}
		for _, err := range []error{migrations.Up(t.Context(), nil, d, nil), migrations.Up(t.Context(), db, nil, nil)} {
			if !errors.Is(err, migrations.ErrInvalidOptions) {
				t.Errorf("without a pool or a dialect: %v", err)
			}
		}
	})
}
