package hookdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

type connector struct {
	base  *sql.DB
	hooks Hooks
}

func (c *connector) Driver() driver.Driver { return c.base.Driver() }

// Connect takes a connection out of the base pool. As long as held is open, database/sql leaves what is below alone.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.hooks.Before != nil {
		if err := c.hooks.Before(Connect); err != nil {
			return nil, err
		}
	}
	held, err := c.base.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var raw driver.Conn
	err = held.Raw(func(below any) error {
		var ok bool
		if raw, ok = below.(driver.Conn); !ok {
			return fmt.Errorf("hookdb: %T is not a driver.Conn", below)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &conn{hooks: c.hooks, held: held, raw: raw, stmts: map[*stmt]struct{}{}}, nil
}

// conn is used by one goroutine at a time, as any driver's.
type conn struct {
	hooks Hooks
	held  *sql.Conn
	raw   driver.Conn
	stmts map[*stmt]struct{} // open
	cut   bool
}

// do runs one statement between the hooks.
func do[T any](c *conn, query string, run func() (T, error)) (T, error) {
	var none T
	if c.cut {
		return none, driver.ErrBadConn
	}
	if c.hooks.Before != nil {
		if err := c.hooks.Before(query); err != nil {
			c.discard()
			return none, err
		}
	}
	v, err := run()
	if err != nil || c.hooks.After == nil {
		return v, err
	}
	if err := c.hooks.After(query); err != nil {
		if rows, ok := any(v).(driver.Rows); ok {
			_ = rows.Close()
		}
		c.discard()
		return none, err
	}
	return v, nil
}

func (c *conn) rewrite(query string) string {
	if c.hooks.Rewrite == nil {
		return query
	}
	return c.hooks.Rewrite(query)
}

// discard closes the connection below for good; the server rolls back what was open. Statements go first: SQLite keeps a
// closed connection, with its locks, for as long as it has any.
func (c *conn) discard() {
	if c.cut {
		return
	}
	c.cut = true
	for s := range c.stmts {
		_ = s.raw.Close()
	}
	_ = c.held.Raw(func(any) error { return driver.ErrBadConn })
}

func (c *conn) Close() error {
	c.discard()
	return nil
}

func (c *conn) Begin() (driver.Tx, error) { return c.BeginTx(context.Background(), driver.TxOptions{}) }

func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return do(c, Begin, func() (driver.Tx, error) {
		b, ok := c.raw.(driver.ConnBeginTx)
		if !ok {
			//lint:ignore SA1019 what a wrapped driver has may be all that it has
			t, err := c.raw.Begin()
			return &tx{c, t}, err
		}
		t, err := b.BeginTx(ctx, opts)
		return &tx{c, t}, err
	})
}

// ExecContext takes statements without arguments; database/sql prepares the others. So each is seen once, though some
// drivers answer ErrSkip to arguments.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	e, ok := c.raw.(driver.ExecerContext)
	if !ok || len(args) > 0 {
		return nil, driver.ErrSkip
	}
	query = c.rewrite(query)
	return do(c, query, func() (driver.Result, error) { return e.ExecContext(ctx, query, args) })
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	q, ok := c.raw.(driver.QueryerContext)
	if !ok || len(args) > 0 {
		return nil, driver.ErrSkip
	}
	query = c.rewrite(query)
	return do(c, query, func() (driver.Rows, error) { return q.QueryContext(ctx, query, args) })
}

func (c *conn) ResetSession(ctx context.Context) error {
	if c.cut {
		return driver.ErrBadConn
	}
	if r, ok := c.raw.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c *conn) IsValid() bool {
	if c.cut {
		return false
	}
	v, ok := c.raw.(driver.Validator)
	return !ok || v.IsValid()
}

func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.raw.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type tx struct {
	c   *conn
	raw driver.Tx
}

func (t *tx) Commit() error {
	_, err := do(t.c, Commit, func() (struct{}, error) { return struct{}{}, t.raw.Commit() })
	return err
}

func (t *tx) Rollback() error {
	_, err := do(t.c, Rollback, func() (struct{}, error) { return struct{}{}, t.raw.Rollback() })
	return err
}
