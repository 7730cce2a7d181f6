// Package sqlite is the dialect of SQLite 3.42 and later, over modernc.org/sqlite.
//
// A pool made by Open has the settings that the outbox wants. One made by sql.Open("sqlite", …) works too; give it at
// least a busy_timeout, in the DSN: a PRAGMA that is executed holds for one connection of the pool only. All processes
// that share a file must run on one host; a network file system will not do (sqlite.org/wal.html, sqlite.org/faq.html).
package sqlite

import (
	"context"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
)

type sqlite struct{}

// New is the dialect. It has no state: one may serve any number of pools.
func New() dialect.Dialect { return sqlite{} }

func (sqlite) Name() string { return "sqlite" }

// Bind changes nothing: "?" is SQLite's own placeholder.
func (sqlite) Bind(query string) string { return query }

// Clock: unixepoch('subsec') counts in exact milliseconds, where the usual julianday('now') arithmetic is off by one in
// half of all readings. Before SQLite 3.42, which knows no 'subsec', it is NULL, and every column refuses that.
func (sqlite) Clock() string { return "(CAST(unixepoch('subsec') * 1000 AS INTEGER))" }

// Lock is empty: Begin holds the only write lock there is.
func (sqlite) Lock() string     { return "" }
func (sqlite) LockSkip() string { return "" }

func (sqlite) IgnoreDuplicate(column string) string {
	return " ON CONFLICT (" + column + ") DO NOTHING"
}

func (sqlite) CountFirst(key, _ string) string {
	return " ON CONFLICT (" + key + ") DO NOTHING"
}

func (sqlite) IndexHint(index string) string { return " INDEXED BY " + index }

// InTransaction tries to begin one: inside a transaction that is refused and changes nothing. An interrupted INSERT,
// UPDATE or DELETE rolls back all of the transaction it stands in (sqlite.org/c3ref/interrupt.html), and what follows
// would run by itself. The probe itself is not interrupted, for the same reason.
func (sqlite) InTransaction(ctx context.Context, e dialect.Execer) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	ctx = context.WithoutCancel(ctx)
	_, err := e.ExecContext(ctx, "BEGIN")
	if code(err) == sqliteError {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := e.ExecContext(ctx, "ROLLBACK"); err != nil {
		return false, fmt.Errorf("end the probe: %w", err)
	}
	return false, nil
}

func (sqlite) UpdateByKey(table string) string { return "UPDATE " + table }
func (sqlite) DeleteByKey(table string) string { return "DELETE FROM " + table }

// ChangesRangesAlone: there is one writer at a time.
func (sqlite) ChangesRangesAlone() bool { return true }
