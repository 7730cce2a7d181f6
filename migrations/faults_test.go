package migrations_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
)

var errKilled = errors.New("the process was killed")

// fault is a point in the run of a program at which it dies: at the nth statement, before or after it has run. From
// then on nothing works any more.
type fault struct {
	nth   int
	after bool
	die   context.CancelFunc

	mu   sync.Mutex // guards seen and dead
	seen int
	dead bool
}

// around runs a statement, or not.
func (f *fault) around(run func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return errKilled
	}
	f.seen++
	if f.seen != f.nth {
		return run()
	}
	f.dead = true
	defer f.die()
	if f.after {
		_ = run() // nobody is told
	}
	return errKilled
}

// pool is db with the fault between it and whoever uses it. Its connections are db's own, and are closed, not given
// back: a process that dies leaves no connection.
func (f *fault) pool(db *sql.DB) *sql.DB { return sql.OpenDB(&faultConnector{db, f}) }

type faultConnector struct {
	db    *sql.DB
	fault *fault
}

func (c *faultConnector) Driver() driver.Driver { return c.db.Driver() }

func (c *faultConnector) Connect(ctx context.Context) (driver.Conn, error) {
	held, err := c.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	conn := &faultConn{held: held, fault: c.fault}
	return conn, held.Raw(func(raw any) error {
		conn.raw = raw.(rawConn)
		return nil
	})
}

// rawConn is what all drivers here have.
type rawConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
}

type faultConn struct {
	held  *sql.Conn
	raw   rawConn
	fault *fault
}

func (c *faultConn) Close() error {
	return c.held.Raw(func(any) error { return driver.ErrBadConn })
}

func (c *faultConn) Prepare(query string) (driver.Stmt, error) { return c.raw.Prepare(query) }
func (c *faultConn) Begin() (driver.Tx, error)                 { return nil, errors.New("not used") }

func (c *faultConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.raw.PrepareContext(ctx, query)
}

func (c *faultConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.raw.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *faultConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.raw.QueryContext(ctx, query, args) // reading is not worth dying at
}

func (c *faultConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (result driver.Result, err error) {
	err = c.fault.around(func() error {
		result, err = c.raw.ExecContext(context.WithoutCancel(ctx), query, args)
		return err
	})
	return result, err
}

func (c *faultConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.raw.BeginTx(ctx, opts)
	return &faultTx{tx, c.fault}, err
}

type faultTx struct {
	driver.Tx
	fault *fault
}

func (t *faultTx) Commit() error { return t.fault.around(t.Tx.Commit) }
