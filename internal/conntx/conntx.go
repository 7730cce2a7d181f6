// Package conntx begins transactions by hand, on a connection of their own, for engines that are to be told more than
// database/sql can say, or the same in fewer round trips.
package conntx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

const rollbackTime = 2 * time.Second

// Tx is a transaction on a connection of its own, used by one goroutine at a time. Rows must be closed before it is ended.
//
// A connection that turns out to be read-only is given up: it leads to a server that was the primary, or its session keeps the
// default that it began with, and a pool would give it out again for ever, the last one used first.
type Tx struct {
	ctx      context.Context // of Begin; COMMIT ends with it
	conn     *sql.Conn
	classify func(error) dialect.Class
	read     *sql.Rows // of the last statement, if it was a query: an error may have come with its rows
	failed   bool
	readOnly bool
	done     bool
}

// Begin takes a connection and runs the statements that begin a transaction on it.
func Begin(ctx context.Context, db *sql.DB, classify func(error) dialect.Class, statements ...string) (*Tx, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t := &Tx{ctx: ctx, conn: conn, classify: classify}
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			t.drop()
			return nil, err
		}
	}
	return t, nil
}

// ExecContext runs a statement.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if t.done {
		return nil, sql.ErrTxDone
	}
	t.noteRows()
	res, err := t.conn.ExecContext(ctx, query, args...)
	t.note(err)
	return res, err
}

// QueryContext runs a query.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if t.done {
		return nil, sql.ErrTxDone
	}
	t.noteRows()
	rows, err := t.conn.QueryContext(ctx, query, args...)
	t.note(err)
	t.read = rows
	return rows, err
}

// Failed reports whether a statement has failed, or the reading of what it found.
func (t *Tx) Failed() bool {
	t.noteRows()
	return t.failed
}

func (t *Tx) noteRows() {
	if t.read != nil {
		t.note(t.read.Err())
		t.read = nil
	}
}

func (t *Tx) note(err error) {
	if err != nil {
		t.failed = true
		t.readOnly = t.readOnly || t.classify(err) == dialect.ReadOnly
	}
}

// Commit commits. The connection is free again, or given up after an error.
func (t *Tx) Commit() error { return t.end(t.ctx, "COMMIT") }

// Rollback rolls back, also when the context of Begin has ended.
func (t *Tx) Rollback() error {
	t.noteRows()
	if t.readOnly && !t.done {
		t.drop()
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), rollbackTime)
	defer cancel()
	return t.end(ctx, "ROLLBACK")
}

func (t *Tx) end(ctx context.Context, statement string) error {
	if t.done {
		return sql.ErrTxDone
	}
	t.done = true
	if _, err := t.conn.ExecContext(ctx, statement); err != nil {
		t.drop()
		return err
	}
	return t.conn.Close()
}

// drop gives the connection up, with whatever is open on it: it does not go back to the pool.
func (t *Tx) drop() {
	t.done = true
	_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = t.conn.Close()
}
