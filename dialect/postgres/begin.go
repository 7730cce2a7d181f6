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

func (p postgres) Begin(ctx context.Context, db *sql.DB) (dialect.Tx, error) {
	inner, err := conntx.Begin(ctx, db, p.Classify, begin)
	if err != nil {
		return nil, err
	}
	return tx{inner}, nil
}

type tx struct{ *conntx.Tx }

var errAborted = errors.New("commit: a statement of the transaction had failed, and PostgreSQL has rolled all of it back")

// Commit answers with an error after a statement has failed: PostgreSQL then takes COMMIT for ROLLBACK, and is content.
func (t tx) Commit() error {
	if !t.Failed() {
		return t.Tx.Commit()
	}
	if err := t.Rollback(); err != nil {
		return err
	}
	return errAborted
}
