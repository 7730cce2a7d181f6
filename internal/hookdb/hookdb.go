// Package hookdb puts hooks between a pool and its driver, whatever the driver: statements can be rewritten, and the
// connection cut before or after any of them. It needs no DSN: its connections are borrowed from another pool, and
// never given back.
package hookdb

import (
	"database/sql"
	"errors"
	"io"
)

// Hooks are asked at every statement, from any number of goroutines at once. A nil hook is not asked. Transactions
// that are begun and ended through the driver are seen as Begin, Commit and Rollback, a new connection as Connect.
type Hooks struct {
	// Rewrite gives the text that is sent in place of query.
	Rewrite func(query string) string
	// Before is asked before each statement. An error stands in place of its result: it is not run, and its connection
	// is cut.
	Before func(query string) error
	// After is asked after each statement that worked. An error stands in place of its result, and its connection is
	// cut: the statement has run, and nobody was told.
	After func(query string) error
}

// What the hooks see of calls that have no text.
const (
	Connect  = "CONNECT"
	Begin    = "BEGIN"
	Commit   = "COMMIT"
	Rollback = "ROLLBACK"
)

// ErrCut is what a broken connection looks like where the statement may have run. It is not driver.ErrBadConn, which
// database/sql takes for leave to try again by itself.
var ErrCut error = cutError{errors.New("the connection was cut")}

type cutError struct{ error }

// Is makes it the error that each dialect knows for a lost connection.
func (cutError) Is(target error) bool {
	return target == io.ErrUnexpectedEOF || target == sql.ErrConnDone
}

// Open makes a pool over base, with base's limit of connections. Close it before base.
func Open(base *sql.DB, h Hooks) *sql.DB {
	db := sql.OpenDB(&connector{base: base, hooks: h})
	db.SetMaxOpenConns(base.Stats().MaxOpenConnections)
	return db
}
