package conformance_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/conformance"
	"github.com/sqloutbox/sqloutbox/conformance/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/migrations"
)

// A suite that passes everything proves nothing. Each of these is broken on purpose, in one way, and is caught by the
// case that names the rule; the same case passes with what is whole.
var mutants = []struct {
	name    string
	engines string // all of them, or those named
	rule    string
	breakIt func(h *conformance.Harness)
}{
	{"no row locks", "postgres mysql mariadb", "a locked row is waited for", wrap(func(d dialect.Dialect) dialect.Dialect { return noLocks{d} })},
	{"locks that wait in place of skipping", "postgres mysql mariadb", "a row that another has locked is left out", wrap(func(d dialect.Dialect) dialect.Dialect { return noSkip{d} })},
	{"no lock at the beginning", "sqlite", "a transaction that has read may write", wrap(func(d dialect.Dialect) dialect.Dialect { return plainBegin{d, nil} })},
	{"a stricter isolation", "postgres mysql mariadb", "a transaction sees what was committed since it began", wrap(func(d dialect.Dialect) dialect.Dialect {
		return plainBegin{d, &sql.TxOptions{Isolation: sql.LevelRepeatableRead}}
	})},
	{"the process's clock", "", "the clock goes on by itself", clock("(1700000000000)")},
	{"the transaction's clock", "postgres", "the clock goes on inside a transaction", clock("((EXTRACT(EPOCH FROM now()) * 1000)::BIGINT)")},
	{"a clock in seconds", "sqlite", "the clock counts milliseconds since 1970", clock("(unixepoch())")},
	{"a local clock", "postgres", "the clock knows no time zone", clock("((EXTRACT(EPOCH FROM clock_timestamp() AT TIME ZONE current_setting('TimeZone')) * 1000)::BIGINT)")},
	{"a local clock", "mysql mariadb", "the clock knows no time zone", clock("(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', NOW(6)) DIV 1000)")},
	{"an in-transaction check that always says yes", "mysql mariadb sqlite", "a transaction that ended unnoticed takes no event", wrap(func(d dialect.Dialect) dialect.Dialect { return alwaysIn{d} })},
	{"an in-transaction check that always says yes", "mysql mariadb", "a swallowed deadlock leaves no ghost", wrap(func(d dialect.Dialect) dialect.Dialect { return alwaysIn{d} })},
	{"conflicts taken for something else", "", "what only another try can mend is a conflict", classify(dialect.Conflict, dialect.Other)},
	{"duplicates taken for something else", "", "an id that is taken is refused", classify(dialect.Duplicate, dialect.Other)},
	{"lost connections taken for something else", "", "a database that is away at the start is waited for, total", classify(dialect.Disconnected, dialect.Other)},
	{"duplicates not ignored", "", "a duplicate is left out where that is asked for, and the transaction stays usable", ignore("")},
	{"duplicates that overwrite", "postgres sqlite", "leaving duplicates out hides no other fault", ignore(" ON CONFLICT (id) DO UPDATE SET topic = excluded.topic")},
	{"all faults ignored", "sqlite", "leaving duplicates out hides no other fault", rewrite("INSERT INTO outbox_events", "INSERT OR IGNORE INTO outbox_events")},
	{"all faults ignored", "mysql mariadb", "leaving duplicates out hides no other fault", rewrite("INSERT INTO outbox_events", "INSERT IGNORE INTO outbox_events")},
	{"ids without case", "sqlite", "ids that differ by case, accent or trailing space are different", migrate("id              TEXT NOT NULL UNIQUE", "id TEXT COLLATE NOCASE NOT NULL UNIQUE")},
	{"ids without trailing spaces", "mysql mariadb", "ids that differ by case, accent or trailing space are different", migrate("id              VARBINARY(128)", "id VARCHAR(128) COLLATE utf8mb4_bin")},
	{"topics without case", "sqlite", "topics that differ by case, accent or trailing space are different", migrate("topic           TEXT NOT NULL", "topic TEXT COLLATE NOCASE NOT NULL")},
	{"payloads as text", "mysql mariadb", "bytes in are bytes out", migrate("payload         LONGBLOB NOT NULL", "payload LONGTEXT NOT NULL")},
	{"tokens not compared", "", "a lost lease cannot settle", rewrites("AND token = ? AND version = ?", "AND (token = ? OR 1 = 1) AND (version = ? OR 1 = 1)", "WHERE id = ? AND (token", "WHERE (id = ? OR 1 = 1) AND (token",
		"AND token = $3 AND version = $4", "AND (token = $3 OR 1 = 1) AND (version = $4 OR 1 = 1)", "WHERE id = $2 AND (token", "WHERE (id = $2 OR 1 = 1) AND (token")},
	{"claims not compared", "sqlite mysql mariadb", "a late claimer's outcome is refused", rewrite("AND claimed_by = ?", "AND (claimed_by = ? OR 1 = 1)")},
	{"an order from the end", "", "events are handed over in the order of insertion", rewrite("WHERE state = 0 ORDER BY seq LIMIT", "WHERE state = 0 ORDER BY seq DESC LIMIT")},
	{"claims without order", "sqlite", "without order an older event comes first", rewrite("ORDER BY due_ms, seq LIMIT", "ORDER BY seq DESC LIMIT")},
	{"renewal after expiry", "sqlite mysql mariadb", "a lease that ran out cannot be renewed", rewrites("AND token = ? AND until_ms >", "AND token = ? AND 0 <")},
	{"nothing noted as in hand", "sqlite", "what is in hand is noted before the hand-over", rewrite("SET in_hand = ?", "SET in_hand = substr(?, 1, 0)")},
	{"nothing noted as in hand", "sqlite", "an event that kills its relay is dead after exactly MaxAttempts, and only it is charged, total", rewrite("SET in_hand = ?", "SET in_hand = substr(?, 1, 0)")},
	{"a lease that is free for all", "sqlite", "a second relay stands by", rewrite("SELECT owner, token, until_ms, lease_ms", "SELECT owner, token, 0, lease_ms")},
	{"claims that are not noted", "sqlite", "a claimed event is not claimed again", rewrite("claimed_by = ?, due_ms =", "claimed_by = ?, due_ms = 0 *")},
	{"attempts not counted", "sqlite", "a failing event is dead after exactly MaxAttempts, total", rewrite("SET attempts = attempts + 1", "SET attempts = attempts + 0")},
	{"a requeue to the end", "sqlite", "a requeued event is published before anything newer that is pending", rewrite("SET state = 0, attempts = 0", "SET seq = seq + 1000, state = 0, attempts = 0")},
	{"a purge of dead letters", "sqlite", "dead letters are never purged unless that is asked for", rewrites("WHERE state = 1 AND due_ms <", "WHERE state IN (1, 2) AND due_ms <", ") AND state = 1", ")")},
	{"a fault in the tables", "sqlite", "with retention a published event is kept, and not handed over again, total", rewrite("due_ms = (CAST(unixepoch('subsec') * 1000 AS INTEGER)), settled_ms", "due_ms = 5, settled_ms")},
}

func TestBrokenOnPurposeIsCaughtByTheCaseThatNamesTheRule(t *testing.T) {
	cases := map[string]conformance.Case{}
	for _, c := range conformance.Cases() {
		cases[c.Name] = c
	}
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		t.Parallel()
		whole := map[string]bool{}
		for _, m := range mutants {
			if m.engines != "" && !contains(m.engines, e.Name) {
				continue
			}
			t.Run(m.name+"/"+m.rule, func(t *testing.T) {
				c, ok := cases[m.rule]
				if !ok {
					t.Fatalf("there is no case %q", m.rule)
				}
				if !whole[m.rule] {
					if failures := watch(t, c, harness(e, 0)); len(failures) > 0 {
						t.Errorf("fails on what is whole:\n%s", strings.Join(failures, "\n"))
					}
					whole[m.rule] = true
				}
				h := harness(e, 0)
				h.Patience = 4 * time.Second // some faults show only as something that does not happen
				m.breakIt(&h)
				failures := watch(t, c, h)
				if len(failures) == 0 {
					t.Error("was not caught")
				}
				for _, f := range failures {
					t.Logf("caught: %.300s", f)
				}
			})
		}
	})
}

func contains(list, name string) bool {
	for _, n := range strings.Fields(list) {
		if n == name {
			return true
		}
	}
	return false
}

func wrap(broken func(dialect.Dialect) dialect.Dialect) func(*conformance.Harness) {
	return func(h *conformance.Harness) { h.Dialect = broken(h.Dialect) }
}

type noLocks struct{ dialect.Dialect }

func (noLocks) Lock() string     { return "" }
func (noLocks) LockSkip() string { return "" }

type noSkip struct{ dialect.Dialect }

func (d noSkip) LockSkip() string { return d.Lock() }

type plainBegin struct {
	dialect.Dialect
	opts *sql.TxOptions
}

func (d plainBegin) Begin(ctx context.Context, db *sql.DB) (dialect.Tx, error) {
	if d.opts != nil {
		return db.BeginTx(ctx, d.opts)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	_, err = conn.ExecContext(ctx, "BEGIN")
	return connTx{conn}, err
}

// connTx is a transaction begun by hand.
type connTx struct{ *sql.Conn }

func (t connTx) end(text string) error {
	defer t.Close()
	_, err := t.ExecContext(context.Background(), text)
	return err
}
func (t connTx) Commit() error   { return t.end("COMMIT") }
func (t connTx) Rollback() error { return t.end("ROLLBACK") }

type fixedClock struct {
	dialect.Dialect
	text string
}

func (d fixedClock) Clock() string { return d.text }

func clock(text string) func(*conformance.Harness) {
	return wrap(func(d dialect.Dialect) dialect.Dialect { return fixedClock{d, text} })
}

type alwaysIn struct{ dialect.Dialect }

func (alwaysIn) InTransaction(context.Context, dialect.Execer) (bool, error) { return true, nil }

type misread struct {
	dialect.Dialect
	from, to dialect.Class
}

func (d misread) Classify(err error) dialect.Class {
	if c := d.Dialect.Classify(err); c != d.from {
		return c
	}
	return d.to
}

func classify(from, to dialect.Class) func(*conformance.Harness) {
	return wrap(func(d dialect.Dialect) dialect.Dialect { return misread{d, from, to} })
}

type ignoring struct {
	dialect.Dialect
	clause string
}

func (d ignoring) IgnoreDuplicate(column string) string {
	if column != "id" {
		return d.Dialect.IgnoreDuplicate(column)
	}
	return d.clause
}

func ignore(clause string) func(*conformance.Harness) {
	return wrap(func(d dialect.Dialect) dialect.Dialect { return ignoring{d, clause} })
}

// rewrite breaks a statement on its way to the driver.
func rewrite(from, to string) func(*conformance.Harness) { return rewrites(from, to) }

// rewrites applies several, in their order.
func rewrites(pairs ...string) func(*conformance.Harness) {
	return func(h *conformance.Harness) {
		whole := h.NewDatabase
		h.NewDatabase = func(t testing.TB) func() (*sql.DB, error) {
			open := whole(t)
			return func() (*sql.DB, error) {
				base, err := open()
				if err != nil {
					return nil, err
				}
				t.Cleanup(func() { base.Close() })
				return hookdb.Open(base, hookdb.Hooks{Rewrite: func(query string) string {
					for i := 0; i < len(pairs); i += 2 {
						query = strings.ReplaceAll(query, pairs[i], pairs[i+1])
					}
					return query
				}}), nil
			}
		}
	}
}

// migrate makes the tables with a fault.
func migrate(from, to string) func(*conformance.Harness) {
	return func(h *conformance.Harness) {
		d := h.Dialect
		h.Migrate = func(ctx context.Context, db *sql.DB) error {
			statements, err := migrations.SQL(d, nil)
			if err != nil {
				return err
			}
			for _, s := range statements {
				if _, err := db.ExecContext(ctx, strings.ReplaceAll(s, from, to)); err != nil {
					return err
				}
			}
			return nil
		}
	}
}
