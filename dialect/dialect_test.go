package dialect_test

import (
	"database/sql"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// each runs fn on an empty database of every engine.
func each(t *testing.T, fn func(t *testing.T, db *sql.DB, d dialect.Dialect)) {
	eachURL(t, func(t *testing.T, url string) {
		db, d := open(t, url)
		fn(t, db, d)
	})
}

func eachURL(t *testing.T, fn func(t *testing.T, url string)) {
	t.Helper()
	engines.Each(t, func(t *testing.T, e *engines.Engine) { fn(t, e.NewDatabase(t)) })
}

// open closes the pool when the test ends.
func open(t *testing.T, url string) (*sql.DB, dialect.Dialect) {
	t.Helper()
	db, d, err := all.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, d
}

func exec(t *testing.T, e dialect.Execer, query string, args ...any) {
	t.Helper()
	if _, err := e.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// one is the only value that a query answers with.
func one[T any](t *testing.T, q rows.Queryer, query string, args ...any) T {
	t.Helper()
	values := column[T](t, q, query, args...)
	if len(values) != 1 {
		t.Fatalf("%s: %d rows", query, len(values))
	}
	return values[0]
}

// column is the first column of all rows that a query answers with.
func column[T any](t *testing.T, q rows.Queryer, query string, args ...any) []T {
	t.Helper()
	values, err := rows.Column[T](t.Context(), q, query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return values
}
