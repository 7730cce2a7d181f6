package hookdb

import (
	"context"
	"database/sql/driver"
)

func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if c.cut {
		return nil, driver.ErrBadConn
	}
	query = c.rewrite(query)
	p, ok := c.raw.(driver.ConnPrepareContext)
	if !ok {
		raw, err := c.raw.Prepare(query)
		return c.opened(raw, query, err)
	}
	raw, err := p.PrepareContext(ctx, query)
	return c.opened(raw, query, err)
}

func (c *conn) opened(raw driver.Stmt, query string, err error) (driver.Stmt, error) {
	if err != nil {
		return nil, err
	}
	s := &stmt{c, raw, query}
	c.stmts[s] = struct{}{}
	return s, nil
}

type stmt struct {
	c     *conn
	raw   driver.Stmt
	query string
}

func (s *stmt) Close() error {
	if s.c.cut {
		return nil // closed with its connection
	}
	delete(s.c.stmts, s)
	return s.raw.Close()
}

func (s *stmt) NumInput() int { return s.raw.NumInput() }

func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	//lint:ignore SA1019 what a wrapped driver has may be all that it has
	return do(s.c, s.query, func() (driver.Result, error) { return s.raw.Exec(args) })
}

func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	//lint:ignore SA1019 what a wrapped driver has may be all that it has
	return do(s.c, s.query, func() (driver.Rows, error) { return s.raw.Query(args) })
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	e, ok := s.raw.(driver.StmtExecContext)
	if !ok {
		return s.Exec(values(args))
	}
	return do(s.c, s.query, func() (driver.Result, error) { return e.ExecContext(ctx, args) })
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	q, ok := s.raw.(driver.StmtQueryContext)
	if !ok {
		return s.Query(values(args))
	}
	return do(s.c, s.query, func() (driver.Rows, error) { return q.QueryContext(ctx, args) })
}

func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.raw.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return s.c.CheckNamedValue(v)
}

func values(named []driver.NamedValue) []driver.Value {
	out := make([]driver.Value, len(named))
	for i, v := range named {
		out[i] = v.Value
	}
	return out
}
