// Package sqlcdb has the shape of what sqlc generates for a query file, written by hand so that the example needs no
// generator.
package sqlcdb

import (
	"context"
	"database/sql"
)

// DBTX is what queries run on: a pool or a transaction.
type DBTX interface {
	ExecContext(context.Context, string, ...interface{}) (sql.Result, error)
	PrepareContext(context.Context, string) (*sql.Stmt, error)
	QueryContext(context.Context, string, ...interface{}) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...interface{}) *sql.Row
}

// New makes Queries on db.
func New(db DBTX) *Queries {
	return &Queries{db: db}
}

// Queries has a method for each query.
type Queries struct {
	db DBTX
}

// WithTx is the same queries in a transaction.
func (q *Queries) WithTx(tx *sql.Tx) *Queries {
	return &Queries{
		db: tx,
	}
}
