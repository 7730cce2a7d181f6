package postgres

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Begin asks for READ COMMITTED by name, since a database or a role may have a stricter default, under which even a
// claim with SKIP LOCKED fails with 40001.
//
// A connection that turns out to be read-only is dropped: a session keeps the default that it began with, and a pool
// would give it out again for ever, the last one used first.
func (postgres) Begin(ctx context.Context, db *sql.DB) (dialect.Tx, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	inner, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	t := &tx{Tx: inner, conn: conn}
	if _, err := t.ExecContext(ctx, plans); err != nil {
		_ = t.Rollback() // the error that says why is err
		return nil, err
	}
	return t, nil
}

type tx struct {
	*sql.Tx
	conn     *sql.Conn
	readOnly bool
}

func (t *tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	res, err := t.Tx.ExecContext(ctx, query, args...)
	t.note(err)
	return res, err
}

func (t *tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := t.Tx.QueryContext(ctx, query, args...)
	t.note(err)
	return rows, err
}

func (t *tx) note(err error) {
	t.readOnly = t.readOnly || New().Classify(err) == dialect.ReadOnly
}

func (t *tx) Commit() error {
	err := t.Tx.Commit()
	t.free()
	return err
}

func (t *tx) Rollback() error {
	err := t.Tx.Rollback()
	t.free()
	return err
}

func (t *tx) free() {
	if t.readOnly {
		_ = t.conn.Raw(func(any) error { return sqldriver.ErrBadConn })
	}
	_ = t.conn.Close()
}
