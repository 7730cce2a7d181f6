package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/conntx"
)

// begin is one message, and so one round trip. READ COMMITTED is asked for by name, since a database or a role may have a
// stricter default, under which even a claim with SKIP LOCKED fails with 40001.
const begin = "BEGIN ISOLATION LEVEL READ COMMITTED; " + plans

// Begin drops a connection that turns out to be read-only: a session keeps the default that it began with, and a pool
// would give it out again for ever, the last one used first.
func (postgres) Begin(ctx context.Context, db *sql.DB) (dialect.Tx, error) {
	inner, err := conntx.Begin(ctx, db, begin)
	if err != nil {
		return nil, err
	}
	return &tx{Tx: inner}, nil
}

var errAborted = errors.New("commit: a statement of the transaction had failed, and PostgreSQL has rolled all of it back")

type tx struct {
	*conntx.Tx
	read     *sql.Rows // of the last statement, if it was a query: an error may have come with its rows
	failed   bool
	readOnly bool
}

func (t *tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	t.noteRows()
	res, err := t.Tx.ExecContext(ctx, query, args...)
	t.note(err)
	return res, err
}

func (t *tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	t.noteRows()
	rows, err := t.Tx.QueryContext(ctx, query, args...)
	t.note(err)
	t.read = rows
	return rows, err
}

func (t *tx) noteRows() {
	if t.read != nil {
		t.note(t.read.Err())
		t.read = nil
	}
}

func (t *tx) note(err error) {
	t.failed = t.failed || err != nil
	t.readOnly = t.readOnly || New().Classify(err) == dialect.ReadOnly
}

// Commit answers with an error after a statement has failed: PostgreSQL then takes COMMIT for ROLLBACK, and is content.
func (t *tx) Commit() error {
	t.noteRows()
	if !t.failed {
		return t.Tx.Commit()
	}
	if err := t.Rollback(); err != nil {
		return err
	}
	return errAborted
}

func (t *tx) Rollback() error {
	if t.readOnly {
		t.readOnly = false
		t.Drop()
		return nil
	}
	return t.Tx.Rollback()
}
