package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// rollbackTime bounds a ROLLBACK; the connection is dropped after it, which rolls back too.
const rollbackTime = 2 * time.Second

// Begin asks for READ COMMITTED: under REPEATABLE READ, the servers' default, a locking read also locks the gaps that
// the host's inserts go to.
//
// The transaction is begun by hand, since the driver's Commit and Rollback know no context: on a connection that was
// dropped on the way they would wait for ever. Here COMMIT ends with ctx, and its outcome is unknown then.
func (mysql) Begin(ctx context.Context, db *sql.DB) (dialect.Tx, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	t := &tx{ctx: ctx, conn: conn}
	for _, statement := range []string{"SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			t.drop()
			return nil, err
		}
	}
	return t, nil
}

type tx struct {
	ctx  context.Context // of Begin; COMMIT ends with it
	conn *sql.Conn
	done bool
}

func (t *tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if t.done {
		return nil, sql.ErrTxDone
	}
	return t.conn.ExecContext(ctx, query, args...)
}

func (t *tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if t.done {
		return nil, sql.ErrTxDone
	}
	return t.conn.QueryContext(ctx, query, args...)
}

func (t *tx) Commit() error { return t.end(t.ctx, "COMMIT") }

func (t *tx) Rollback() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), rollbackTime)
	defer cancel()
	return t.end(ctx, "ROLLBACK")
}

func (t *tx) end(ctx context.Context, statement string) error {
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

// drop closes the connection: it may still be in the transaction and must not go back to the pool.
func (t *tx) drop() {
	t.done = true
	_ = t.conn.Raw(func(any) error { return sqldriver.ErrBadConn })
	_ = t.conn.Close()
}
