package sqlite_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
)

// stuckConn takes every statement but ROLLBACK: it stays in its transaction.
type stuckConn struct{ closed *int }

func (c stuckConn) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c stuckConn) Driver() driver.Driver                        { return nil }
func (c stuckConn) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("not used") }
func (c stuckConn) Begin() (driver.Tx, error)                    { return nil, errors.New("not used") }

func (c stuckConn) Close() error {
	*c.closed++
	return nil
}

func (c stuckConn) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	if query == "ROLLBACK" || query == "COMMIT" {
		return nil, errors.New("input/output error")
	}
	return driver.RowsAffected(0), nil
}

func TestAConnectionThatMayBeInATransactionLeavesThePool(t *testing.T) {
	var closed int
	db := sql.OpenDB(stuckConn{&closed})
	defer db.Close()
	db.SetMaxOpenConns(1)
	for i := range 2 {
		tx, err := sqlite.New().Begin(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		end := tx.Rollback
		if i == 1 {
			end = tx.Commit
		}
		if err := end(); err == nil {
			t.Error("the end reports success")
		}
		if closed != i+1 {
			t.Errorf("%d connections were closed, want %d", closed, i+1)
		}
		if stats := db.Stats(); stats.OpenConnections != 0 {
			t.Errorf("the pool still holds %d connections", stats.OpenConnections)
		}
	}
}
