package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Begin takes a connection and the write lock at once, whatever the DSN says. A transaction that begins by reading is
// refused with BUSY_SNAPSHOT, time-out or not, when it writes after another has. Waiting for the lock ends with ctx.
func (sqlite) Begin(ctx context.Context, db *sql.DB) (dialect.Tx, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t := &tx{conn: conn}
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		// A cancelled BEGIN may have happened.
		_ = t.Rollback()
		return nil, err
	}
	return t, nil
}

// tx is a transaction that was begun by hand on a connection of its own.
//
// Its statements are not interrupted: SQLite answers an interrupted write by rolling the whole transaction back, and
// the next statement would run by itself. A context that has ended stops the next statement before it starts.
type tx struct {
	conn *sql.Conn
	done bool
}

func (t *tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := t.usable(ctx); err != nil {
		return nil, err
	}
	return t.conn.ExecContext(context.WithoutCancel(ctx), query, args...)
}

func (t *tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.usable(ctx); err != nil {
		return nil, err
	}
	return t.conn.QueryContext(context.WithoutCancel(ctx), query, args...)
}

func (t *tx) usable(ctx context.Context) error {
	if t.done {
		return sql.ErrTxDone
	}
	return ctx.Err()
}

// Commit commits, or rolls back if that fails: after an error nothing of the transaction stays. (SQLite leaves a
// transaction open when its COMMIT finds the database busy.) The connection is free again in every case.
func (t *tx) Commit() error {
	if t.done {
		return sql.ErrTxDone
	}
	if _, err := t.conn.ExecContext(context.Background(), "COMMIT"); err != nil {
		return errors.Join(err, t.Rollback())
	}
	t.done = true
	return t.conn.Close()
}

// Rollback rolls back; the connection is free again in every case. That SQLite has rolled back by itself already, as
// it does when the disk is full, is not an error.
func (t *tx) Rollback() error {
	if t.done {
		return sql.ErrTxDone
	}
	t.done = true
	_, err := t.conn.ExecContext(context.Background(), "ROLLBACK")
	if err == nil || code(err) == sqliteError { // "no transaction is active"
		return t.conn.Close()
	}
	// The connection may still be in the transaction: it must not go back to the pool. Raw closes it for ErrBadConn.
	_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	return fmt.Errorf("rollback: %w", err)
}
