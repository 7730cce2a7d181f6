package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Tx is a transaction of pgx's own in the shape of *sql.Tx, for outbox.Write. It adds nothing and keeps nothing: the
// pgx.Tx may go on being used beside it, by the same goroutine.
type Tx struct{ tx pgx.Tx }

// WrapTx makes a Tx of tx.
func WrapTx(tx pgx.Tx) *Tx { return &Tx{tx} }

// ExecContext runs one statement. After Commit or Rollback the error is sql.ErrTxDone too, as from *sql.Tx.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tag, err := t.tx.Exec(ctx, query, args...)
	if err != nil {
		return nil, done(err)
	}
	return result{tag}, nil
}

// Commit commits without a deadline, as *sql.Tx does. pgx.ErrTxCommitRollback says that an earlier statement had
// failed and nothing was committed.
func (t *Tx) Commit() error { return done(t.tx.Commit(context.Background())) }

// Rollback rolls back without a deadline, as *sql.Tx does.
func (t *Tx) Rollback() error { return done(t.tx.Rollback(context.Background())) }

func done(err error) error {
	if errors.Is(err, pgx.ErrTxClosed) {
		return fmt.Errorf("%w: %w", sql.ErrTxDone, err)
	}
	return err
}

type result struct{ tag pgconn.CommandTag }

func (r result) RowsAffected() (int64, error) { return r.tag.RowsAffected(), nil }

func (r result) LastInsertId() (int64, error) {
	return 0, errors.New("last insert id: PostgreSQL has none; use RETURNING")
}
