// Package stubdb is a database that answers chosen queries with one row, for servers that a test can't have, such as old
// ones.
package stubdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
)

// Answers are rows by the text of the query, space for space.
type Answers map[string][]driver.Value

// Open makes a pool that answers these queries, and fails all else.
func Open(answers Answers) *sql.DB { return sql.OpenDB(connector{answers}) }

type connector struct{ answers Answers }

func (c connector) Connect(context.Context) (driver.Conn, error) { return conn(c), nil }
func (c connector) Driver() driver.Driver                        { return nil }

type conn connector

func (c conn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("stub: prepare") }
func (c conn) Begin() (driver.Tx, error)           { return nil, errors.New("stub: begin") }
func (c conn) Close() error                        { return nil }

func (c conn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	row, known := c.answers[query]
	if !known {
		return nil, fmt.Errorf("stub: no answer to %q", query)
	}
	return &rows{row: row}, nil
}

type rows struct {
	row  []driver.Value
	done bool
}

func (r *rows) Columns() []string { return make([]string, len(r.row)) }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(into []driver.Value) error {
	if r.done {
		return io.EOF
	}
	r.done = true
	copy(into, r.row)
	return nil
}
