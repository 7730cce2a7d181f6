// Package postgres is the dialect of PostgreSQL 11 and later, over pgx.
//
// A pool made by Open, by pgx's own stdlib package or by sql.Open("pgx", …) will do; errors are understood if they are
// pgx's. A transaction begun with pgx itself is given to outbox.Write through WrapTx.
package postgres

import (
	"context"

	"github.com/jmoiron/sqlx"

	"github.com/sqloutbox/sqloutbox/dialect"
)

type postgres struct{}

// New is the dialect. It has no state: one may serve any number of pools.
func New() dialect.Dialect { return postgres{} }

func (postgres) Name() string { return "postgres" }

func (postgres) Bind(query string) string { return sqlx.Rebind(sqlx.DOLLAR, query) }

// Clock: clock_timestamp() is read when it is evaluated, while now() stays at the transaction's start; an epoch knows
// no time zone. (PostgreSQL manual, 9.9.5 "Current Date/Time".)
func (postgres) Clock() string {
	return "((EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::BIGINT)"
}

func (postgres) Lock() string     { return " FOR UPDATE" }
func (postgres) LockSkip() string { return " FOR UPDATE SKIP LOCKED" }

// LockKey keeps a row from being deleted, and lets its other columns be changed. Under REPEATABLE READ and SERIALIZABLE a
// row that has changed since the snapshot is 40001, a conflict. (PostgreSQL manual, 13.3.2 "Row-Level Locks".)
func (postgres) LockKey() string { return " FOR KEY SHARE" }

func (postgres) IgnoreDuplicate(column string) string {
	return " ON CONFLICT (" + column + ") DO NOTHING"
}

// CountFirst: under REPEATABLE READ and SERIALIZABLE a key that another transaction has taken since this one began is
// 40001, a conflict. (PostgreSQL manual, 13.2 "Transaction Isolation".)
func (postgres) CountFirst(key, _ string) string {
	return " ON CONFLICT (" + key + ") DO NOTHING"
}

// IndexHint is empty: PostgreSQL has no hints.
func (postgres) IndexHint(string) string { return "" }

// plans makes the planner walk an index in order for the length of one transaction, whatever the statistics say. A table
// that was analysed while it was empty, or never, makes it expect so few rows that it reads and sorts all that is
// pending for each batch. The other engines take an index hint for this; PostgreSQL has planner settings. (PostgreSQL
// manual, 20.7.1 "Planner Method Configuration": they discourage a method, they do not forbid it.)
//
// A method that is discouraged costs 10^10, where there is no other way, and so a table of some rows would be read by code
// that is compiled for it: 80 ms. Hence no JIT.
//
// The last setting frees what a process holds that was stopped inside of a transaction: it takes milliseconds otherwise.
const plans = "SET LOCAL enable_sort = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_seqscan = off; SET LOCAL jit = off; " +
	"SET LOCAL idle_in_transaction_session_timeout = 10000"

// InTransaction need not ask: after an error PostgreSQL refuses every statement of the transaction with 25P02 until it
// is rolled back, so nothing can be written outside of it.
func (postgres) InTransaction(context.Context, dialect.Execer) (bool, error) { return true, nil }

// ChangesRangesAlone: READ COMMITTED locks the rows that a statement changes, and nothing between or behind them (PostgreSQL
// manual, 13.3.2 "Row-Level Locks").
func (postgres) ChangesRangesAlone() bool { return true }

// FiltersRows: an index scan compares what is an index condition in the index, and IN on a column that is not in its order is
// none (measured: 30 ms a look past 100,000 entries, 5 ms with a range).
func (postgres) FiltersRows() bool { return true }

func (postgres) UpdateByKey(table string) string { return "UPDATE " + table }
func (postgres) DeleteByKey(table string) string { return "DELETE FROM " + table }
