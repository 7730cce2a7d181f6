// Package conntx begins transactions by hand, on a connection of their own, for engines that are to be told more than
// database/sql can say, or the same in fewer round trips.
package conntx

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

const rollbackTime = 2 * time.Second

// Tx is a transaction on a connection of its own, used by one goroutine at a time. Rows must be closed before it is ended.
type Tx struct {
	ctx  context.Context // of Begin; COMMIT ends with it
	conn *sql.Conn
	done bool
}

// Begin takes a connection and runs the statements that begin a transaction on it.
func Begin(ctx context.Context, db *sql.DB, statements ...string) (*Tx, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t := &Tx{ctx: ctx, conn: conn}
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			t.Drop()
			return nil, err
		}
	}
	return t, nil
}

func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if t.done {
		return nil, sql.ErrTxDone
	}
	return t.conn.ExecContext(ctx, query, args...)
}

func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if t.done {
		return nil, sql.ErrTxDone
	}
	return t.conn.QueryContext(ctx, query, args...)
}

// Commit commits. The connection is free again, or given up after an error.
func (t *Tx) Commit() error { return t.end(t.ctx, "COMMIT") }

// Rollback rolls back, also when the context of Begin has ended.
func (t *Tx) Rollback() error {
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
		t.Drop()
		return err
	}
	return t.conn.Close()
}

// Drop gives the connection up, with whatever is open on it: it does not go back to the pool.
func (t *Tx) Drop() {
	t.done = true
	_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = t.conn.Close()
}
