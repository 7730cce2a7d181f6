package conformance_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/conformance"
	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/migrations"
)

// fault is one way to break a harness.
type fault struct {
	wrap       func(dialect.Dialect) dialect.Dialect // nil: the dialect stays whole
	statements []string                              // from, to, from, to, …: rewritten on their way to the driver, in this order
	tables     []string                              // from, to: how the tables are made
	patient    bool
}

func wrap(broken func(dialect.Dialect) dialect.Dialect) fault { return fault{wrap: broken} }

// rewrite breaks a statement.
func rewrite(from, to string) fault { return rewrites(from, to) }

// rewrites breaks several.
func rewrites(pairs ...string) fault { return fault{statements: pairs} }

// migrate makes the tables with a fault.
func migrate(from, to string) fault { return fault{tables: []string{from, to}} }

// patient is for a fault that shows only as something that happens, after much else: being slow must not look like it.
func patient(f fault) fault {
	f.patient = true
	return f
}

// trial is one run of a case on an engine, which is whole or broken.
type trial struct {
	fault
	engine *engines.Engine
	whole  *trial // what it is compared with; nil: it is whole itself

	failures []string
	took     time.Duration

	mu     sync.Mutex // guards what follows
	seen   map[string]bool
	found  map[string]bool // what was there to be rewritten
	broken error           // a fault that is none: the engine does not understand it
}

// try runs a case to its end. What it was to break is looked for again: an earlier try says nothing any more.
func (x *trial) try(t *testing.T, c conformance.Case, patience time.Duration) {
	t.Helper()
	x.mu.Lock() // what ends late of an earlier try is still sending
	x.seen, x.found = map[string]bool{}, map[string]bool{}
	x.mu.Unlock()
	h := harness(x.engine, 0)
	h.Patience = patience
	whole, open := h.Dialect, h.NewDatabase
	if x.wrap != nil {
		h.Dialect = x.wrap(whole)
	}
	h.NewDatabase = func(t testing.TB) func() (*sql.DB, error) {
		again := open(t)
		return func() (*sql.DB, error) {
			base, err := again()
			if err != nil {
				return nil, err
			}
			t.Cleanup(func() { base.Close() })
			return hookdb.Open(base, hookdb.Hooks{Rewrite: func(query string) string {
				sent, first := x.rewrite(query)
				if first && x.whole != nil && (sent != query || isStatement(sent) && !x.whole.saw(sent)) {
					x.mustParse(base, whole, sent)
				}
				return sent
			}}), nil
		}
	}
	if x.tables != nil {
		h.Migrate = func(ctx context.Context, db *sql.DB) error { return x.migrate(ctx, db, whole) }
	}
	from := time.Now()
	x.failures = watch(t, c, h)
	x.took = time.Since(from)
}

// rewrite answers what is sent in place of a statement, and whether that is so for the first time.
func (x *trial) rewrite(query string) (sent string, first bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for pair := range slices.Chunk(x.statements, 2) {
		if strings.Contains(query, pair[0]) {
			x.found[pair[0]] = true
			query = strings.ReplaceAll(query, pair[0], pair[1])
		}
	}
	first = !x.seen[query]
	x.seen[query] = true
	return query, first
}

func (x *trial) saw(query string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen[query]
}

func (x *trial) allSeen() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.seen))
}

// isStatement: not all that is sent can be prepared.
func isStatement(query string) bool {
	verb, _, _ := strings.Cut(query, " ")
	return slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"}, verb)
}

// mustParse asks the engine whether it understands a statement that is never sent while all is whole.
func (x *trial) mustParse(base *sql.DB, d dialect.Dialect, query string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s, err := base.PrepareContext(ctx, query)
	if err == nil {
		err = s.Close()
	}
	if err == nil || d.Classify(err).Retryable() || errors.Is(err, context.DeadlineExceeded) || err.Error() == "sql: database is closed" {
		return // the last is what a relay is told that is still ending when the case is over
	}
	x.isBroken(err)
}

func (x *trial) migrate(ctx context.Context, db *sql.DB, d dialect.Dialect) error {
	statements, err := migrations.SQL(d, nil)
	if err != nil {
		return err
	}
	from, to := x.tables[0], x.tables[1]
	for _, s := range statements {
		if strings.Contains(s, from) {
			x.mu.Lock()
			x.found[from] = true
			x.mu.Unlock()
		}
		if _, err := db.ExecContext(ctx, strings.ReplaceAll(s, from, to)); err != nil {
			x.isBroken(err)
			return err
		}
	}
	return nil
}

func (x *trial) isBroken(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.broken = errors.Join(x.broken, err)
}

// unfound is what it was to rewrite and neither met itself, which may have ended early, nor would have met in the whole run.
func (x *trial) unfound() (all []string) {
	for _, query := range x.whole.allSeen() {
		x.rewrite(query)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, pairs := range [][]string{x.statements, x.tables} {
		for pair := range slices.Chunk(pairs, 2) {
			if !x.found[pair[0]] {
				all = append(all, pair[0])
			}
		}
	}
	return all
}

// slow reports whether the failure may be one of a slow machine: the first thing that went wrong is that something took
// too long, and what comes behind it may follow from that.
func (x *trial) slow() bool {
	return len(x.failures) > 0 && (strings.Contains(x.failures[0], "not within ") || strings.Contains(x.failures[0], context.DeadlineExceeded.Error()))
}
