package outbox_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// States as relays leave them in the table.
const (
	pending   = 0
	published = 1
	dead      = 2
	scheduled = 3
	held      = 4
	waiting   = 5
	paused    = 6
)

// box is an outbox on an empty database, which tests fill as relays would.
type box struct {
	testing.TB
	*outbox.Outbox
	db  *sql.DB
	sql *sqltext.Renderer
}

// eachBox runs fn on every engine.
func eachBox(t *testing.T, fn func(t *testing.T, b *box)) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d := e.Migrated(t)
		fn(t, newBox(t, db, d))
	})
}

func newBox(t *testing.T, db *sql.DB, d dialect.Dialect) *box {
	t.Helper()
	o, err := outbox.New(db, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &box{t, o, db, sqltext.New(d, "", sqltext.DefaultPrefix)}
}

// emptied is the box for a subtest, with nothing in its tables.
func (b *box) emptied(t *testing.T) *box {
	for _, table := range []string{"events", "leases", "relays", "held", "pauses", "counters", "inbox"} {
		b.exec("DELETE FROM {" + table + "}")
	}
	return &box{t, b.Outbox, b.db, b.sql}
}

func (b *box) exec(text string, args ...any) {
	b.Helper()
	if _, err := b.db.ExecContext(b.Context(), b.sql.SQL(text), args...); err != nil {
		b.Fatalf("%s: %v", text, err)
	}
}

// number is the one number that text asks for.
func (b *box) number(text string, args ...any) (n int64) {
	b.Helper()
	if err := b.db.QueryRowContext(b.Context(), b.sql.SQL(text), args...).Scan(&n); err != nil {
		b.Fatalf("%s: %v", text, err)
	}
	return n
}

// event is a row; due and age are relative to now, by the database's clock.
type event struct {
	seq       int64
	topic     string // default "t"
	key       string
	state     int
	due       time.Duration // when it is due; negative: since when
	group     int64         // of a held one, in place of due
	age       time.Duration // since it was written
	attempts  int
	before    int           // attempts before it was requeued
	failed    time.Duration // since it failed first; 0: never
	claimed   string
	token     int // how often it was claimed in OrderNone
	lastError string
}

func (b *box) put(events ...event) {
	b.Helper()
	for _, e := range events {
		if e.topic == "" {
			e.topic = "t"
		}
		due := `{clock} + ?`
		amount := e.due.Milliseconds()
		if e.group != 0 {
			due, amount = `?`, e.group
		}
		firstFailed := `?`
		if e.failed != 0 {
			firstFailed = `{clock} - ?`
		}
		b.exec(`INSERT INTO {events} (seq, id, topic, event_key, payload, state, due_ms, created_ms, attempts, total_attempts, first_failed_ms,
  claimed_by, claim_token, last_error)
VALUES (?, ?, ?, ?, ?, ?, `+due+`, {clock} - ?, ?, ?, `+firstFailed+`, ?, ?, ?)`,
			e.seq, eventID(e.seq), e.topic, e.key, []byte{}, e.state, amount, e.age.Milliseconds(), e.attempts, e.attempts+e.before,
			e.failed.Milliseconds(), e.claimed, e.token, e.lastError)
	}
}

func eventID(seq int64) string { return fmt.Sprintf("event-%d", seq) }

// hold makes an event hold its key for so long.
func (b *box) hold(seq int64, key string, since time.Duration) {
	b.Helper()
	b.exec(`INSERT INTO {held} (seq, event_key, partition_no, since_ms) VALUES (?, ?, ?, {clock} - ?)`,
		seq, key, outbox.Partition(key), since.Milliseconds())
}

// live makes a relay with a lease of 30 s whose last sign of life was now + seen: at -time.Minute it is dead.
func (b *box) live(id, order, inHand string, seen time.Duration) {
	b.Helper()
	b.exec(`INSERT INTO {relays} (id, host, process, order_name, since_ms, seen_ms, until_ms, in_hand)
VALUES (?, 'host', 42, ?, {clock} - 60000, {clock} + ?, {clock} + ?, ?)`,
		id, order, seen.Milliseconds(), (30*time.Second + seen).Milliseconds(), []byte(inHand))
}

// count sets a counter, as of so long ago.
func (b *box) count(name string, value int64, ago time.Duration) {
	b.Helper()
	b.exec(`INSERT INTO {counters} (name, value, at_ms) VALUES (?, ?, {clock} - ?)`, name, value, ago.Milliseconds())
}

// about reports whether got is want, or a little more for the time that the test takes.
func about(got, want time.Duration) bool { return got >= want && got < want+time.Minute }
