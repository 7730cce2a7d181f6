package migrations_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/migrations"
)

func TestSQLBuildsASchemaThatPassesCheck(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		statements, err := migrations.SQL(d, nil)
		if err != nil {
			t.Fatal(err)
		}
		exec(t, db, statements[0])
		if len(statements) > 1 {
			wantCheck(t, db, d, migrations.ErrSchemaBehind, "table outbox_leases", "migrations.SQL")
		}
		for range 2 { // they can be run again
			for _, statement := range statements {
				if strings.Contains(statement, "--") || strings.HasSuffix(statement, ";") {
					t.Errorf("not one bare statement: %s", statement)
				}
				exec(t, db, statement)
			}
			if err := migrations.Check(t.Context(), db, d, nil); err != nil {
				t.Error(err)
			}
		}
		insert(t, db, d, "outbox_", "an event")
		if err := migrations.Down(t.Context(), db, d, nil); !errors.Is(err, migrations.ErrSchemaUnversioned) {
			t.Errorf("Down: %v", err)
		}
		up(t, db, d, nil) // takes them over as they are
		if n := one[int](t, db, "SELECT COUNT(*) FROM outbox_events"); n != 1 {
			t.Errorf("%d events after Up", n)
		}
		if err := migrations.Down(t.Context(), db, d, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestSQLTakesPrefixAndSchema(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		opts := &migrations.Options{Prefix: "p_"}
		if d.Name() == "postgres" {
			opts.Schema = "box"
			exec(t, db, "CREATE SCHEMA box")
		}
		statements, err := migrations.SQL(d, opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range statements {
			if strings.Contains(statement, "outbox_") {
				t.Errorf("a default name is left in %s", statement)
			}
			exec(t, db, statement)
		}
		if err := migrations.Check(t.Context(), db, d, opts); err != nil {
			t.Error(err)
		}
	})
}

var gooseDialects = map[string]goose.Dialect{
	"postgres": goose.DialectPostgres, "mysql": goose.DialectMySQL, "sqlite": goose.DialectSQLite3,
}

// As the goose command does it: the plain files, goose's own version table.
func gooseProvider(t *testing.T, db *sql.DB, d dialect.Dialect, table string) *goose.Provider {
	t.Helper()
	dir, err := fs.Sub(migrations.FS, d.Name())
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(gooseDialects[d.Name()], db, dir, goose.WithTableName(table))
	if err != nil {
		t.Fatal(err)
	}
	return provider
}

func runGoose(t *testing.T, db *sql.DB, d dialect.Dialect, table string) *goose.Provider {
	t.Helper()
	provider := gooseProvider(t, db, d, table)
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return provider
}

func TestTheFilesRunWithGooseAsTheyAre(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		provider := runGoose(t, db, d, "goose_db_version")
		if err := migrations.Check(t.Context(), db, d, nil); err != nil {
			t.Error(err)
		}
		if _, err := provider.DownTo(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		wantCheck(t, db, d, migrations.ErrSchemaMissing)
	})
}

func TestGooseAndUpMayShareTheVersionTable(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		runGoose(t, db, d, "outbox_migrations")
		if err := migrations.Check(t.Context(), db, d, nil); err != nil {
			t.Error(err)
		}
		last := newest(t, db, d)
		forget(t, db, d, last)
		up(t, db, d, nil)
		if err := migrations.Down(t.Context(), db, d, nil); err != nil {
			t.Error(err)
		}

		up(t, db, d, nil)
		provider := runGoose(t, db, d, "outbox_migrations")
		if _, err := provider.Down(t.Context()); err != nil {
			t.Error(err)
		}
		wantCheck(t, db, d, migrations.ErrSchemaBehind, last.Name)
		up(t, db, d, nil)
	})
}

// Each number that a released library has stopped at is a schema that a newer one meets.
func TestUpGoesOnFromEveryOlderSchema(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		steps, err := migrations.Status(t.Context(), db, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range steps[:len(steps)-1] {
			provider := gooseProvider(t, db, d, "outbox_migrations")
			if _, err := provider.UpTo(t.Context(), step.Version); err != nil {
				t.Fatal(err)
			}
			insert(t, db, d, "outbox_", "an event")
			wantCheck(t, db, d, migrations.ErrSchemaBehind, steps[i+1].Name, "run migrations.Up")
			wantWhole(t, db, d)
			if n := one[int](t, db, "SELECT COUNT(*) FROM outbox_events"); n != 1 {
				t.Errorf("%d events after Up from %s", n, step.Name)
			}
			removeAll(t, db, d)
		}
	})
}

func TestUpTouchesNothingOfTheHostsGoose(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		exec(t, db, "CREATE TABLE goose_db_version (version_id BIGINT PRIMARY KEY)")
		exec(t, db, "INSERT INTO goose_db_version VALUES (7)")
		up(t, db, d, nil)
		if err := migrations.Down(t.Context(), db, d, nil); err != nil {
			t.Fatal(err)
		}
		if got := one[int](t, db, "SELECT version_id FROM goose_db_version"); got != 7 {
			t.Errorf("the host's version is %d", got)
		}
	})
}
