// Package customdialect is a dialect as somebody outside of this project would write it: it wraps one that exists,
// changes what is different, and is held to the same rules by the conformance suite (see dialect_test.go, which is all
// the wiring there is).
//
// This one counts. It serves a team that wants to see on its dashboards how often the outbox's own transactions run,
// how long they wait to begin, and how often they collide. A dialect for a fork or a hosted variant of an engine looks
// the same, with another method or two of its own; a dialect for an engine of its own kind implements all of
// dialect.Dialect and brings its migrations through conformance.Harness.Migrate.
package customdialect

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
)

// Dialect is SQLite's, and counts. The methods that it does not have come from the embedded one; Name too, by which the
// library finds the migrations. What SQLite's has beside the contract is embedded too: the interface dialect.Dialect alone
// would hide it, and the start-up check could not see a numbering that is behind after a restore.
type Dialect struct {
	dialect.Dialect
	dialect.KeyRanges
	dialect.SeqBelower

	begun     atomic.Int64
	waited    atomic.Int64 // nanoseconds
	conflicts atomic.Int64
}

// New is a counting dialect. The counters are the only state, and no answer depends on them.
func New() *Dialect {
	d := sqlite.New()
	return &Dialect{Dialect: d, KeyRanges: d.(dialect.KeyRanges), SeqBelower: d.(dialect.SeqBelower)}
}

// Open makes a pool with the settings that the wrapped dialect wants.
func Open(dsn string) (*sql.DB, error) { return sqlite.Open(dsn) }

// Begin counts and times the begin of each of the library's own transactions; on SQLite the wait is for the write lock.
func (d *Dialect) Begin(ctx context.Context, db *sql.DB) (dialect.Tx, error) {
	start := time.Now()
	tx, err := d.Dialect.Begin(ctx, db)
	d.waited.Add(int64(time.Since(start)))
	if err != nil {
		return nil, err // not tx: an interface that holds nothing must be nil
	}
	d.begun.Add(1)
	return tx, nil
}

// Classify counts the errors after which a transaction is run again.
func (d *Dialect) Classify(err error) dialect.Class {
	class := d.Dialect.Classify(err)
	if class == dialect.Conflict {
		d.conflicts.Add(1)
	}
	return class
}

// Counts are what has happened since New.
type Counts struct {
	Begun     int64         // transactions of the library's own
	Waited    time.Duration // for them to begin, in all
	Conflicts int64         // errors that mean "run it again", each time that the library asks
}

// Counts may be read at any time.
func (d *Dialect) Counts() Counts {
	return Counts{d.begun.Load(), time.Duration(d.waited.Load()), d.conflicts.Load()}
}
