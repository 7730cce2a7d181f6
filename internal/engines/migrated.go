package engines

import (
	"database/sql"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/migrations"
)

// Migrated is a pool on an empty database of the test's own, with the library's tables.
func (e *Engine) Migrated(t testing.TB) (*sql.DB, dialect.Dialect) {
	t.Helper()
	return Migrated(t, e.NewDatabase(t))
}

// Migrated is a pool on the database of a URL, with the library's tables.
func Migrated(t testing.TB, url string) (*sql.DB, dialect.Dialect) {
	t.Helper()
	db, d, err := all.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := migrations.Up(t.Context(), db, d, nil); err != nil {
		t.Fatal(err)
	}
	return db, d
}
