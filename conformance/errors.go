package conformance

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/outbox"
)

func errorRules() []rule {
	rules := []rule{
		{"a taken id is a duplicate", classDuplicate},
		{"what only another try can mend is a conflict", classConflict},
		{"a lost connection is seen as one", classDisconnected},
		{"no error and an ended context mean nothing", classOther},
		{"the database is accepted at start-up", checkAccepts},
		{"missing tables are found at start-up", checkFindsMissing},
	}
	for _, table := range []string{"events", "leases", "relays", "held", "pauses", "counters", "handlers", "deliveries", "inbox", "feed", "cursors", "subscriptions", "webhook_deliveries"} {
		rules = append(rules, rule{"a missing table is found at start-up, " + table, func(t *env) { checkFindsOne(t, table) }})
	}
	return rules
}

func (t *env) wantClass(what string, err error, want dialect.Class) {
	t.Helper()
	for _, e := range []error{err, fmt.Errorf("wrapped: %w", err), errors.Join(errors.New("beside"), err)} {
		if got := t.dialect().Classify(e); got != want {
			t.Errorf("%s: %v is %v, want %v", what, e, got, want)
		}
	}
}

func classDuplicate(t *env) {
	t.write(events("e", 1)...)
	_, err := t.tryExec(`INSERT INTO {events} (id, topic, payload) VALUES (?, ?, ?)`, "e-0", "t", []byte{})
	if err == nil {
		t.Fatal("a taken id was inserted again")
	}
	t.wantClass("a taken id", err, dialect.Duplicate)
}

func classConflict(t *env) { t.wantClass("a conflict", t.conflict(), dialect.Conflict) }

// conflict is what the engine says when only another try can help.
func (t *env) conflict() (err error) {
	t.Helper()
	if t.oneWriter() {
		err = t.staleSnapshot()
	} else {
		_, err = t.deadlock()
	}
	if err == nil {
		t.Fatal("no conflict came about")
	}
	return err
}

// deadlock makes two host transactions wait for each other, and answers the one that the engine chose as the victim,
// with its error. The other one has been rolled back.
func (t *env) deadlock() (victim *sql.Tx, err error) {
	t.Helper()
	t.exec(`INSERT INTO conformance_host VALUES (1, 0), (2, 0)`)
	const change = `UPDATE conformance_host SET n = n + 1 WHERE id = ?`
	txs := [2]*sql.Tx{t.begin(t.another()), t.begin(t.another())}
	ctx := t.ctx()
	for i, tx := range txs {
		if _, err := tx.ExecContext(ctx, t.sql.SQL(change), int64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	results := make([]error, 2)
	ended := make(chan int, 2)
	for i, tx := range txs {
		go func() {
			_, results[i] = tx.ExecContext(ctx, t.sql.SQL(change), int64(2-i))
			if results[i] == nil {
				_ = tx.Rollback()
			}
			ended <- i
		}()
	}
	for range 2 {
		if i := await(t, "the deadlock is broken", ended); results[i] != nil {
			victim, err = txs[i], results[i]
		}
	}
	return victim, err
}

// staleSnapshot is what a deferred transaction gets that has read, and writes after another has.
func (t *env) staleSnapshot() error {
	conn, err := t.another().Conn(t.ctx())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.ctx(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	defer conn.ExecContext(context.Background(), "ROLLBACK") //nolint:errcheck // whatever it says, the connection goes
	var n int64
	if err := conn.QueryRowContext(t.ctx(), `SELECT COUNT(*) FROM conformance_host`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	t.exec(`INSERT INTO conformance_host VALUES (1, 0)`)
	_, err = conn.ExecContext(t.ctx(), `INSERT INTO conformance_host VALUES (2, 0)`)
	return err
}

func classDisconnected(t *env) {
	t.wantClass("a bad connection", driver.ErrBadConn, dialect.Disconnected)
	t.wantClass("a connection that was given back", sql.ErrConnDone, dialect.Disconnected)
}

func classOther(t *env) {
	if got := t.dialect().Classify(nil); got != dialect.Other {
		t.Errorf("nil is %v", got)
	}
	t.wantClass("a cancelled context", context.Canceled, dialect.Other)
	t.wantClass("an unknown error", errors.New("deadlock detected, duplicate key, connection refused"), dialect.Other)
}

func checkAccepts(t *env) {
	if err := t.dialect().Check(t.ctx(), t.db); err != nil {
		t.Errorf("the dialect's Check: %v", err)
	}
	if err := t.o.Check(t.ctx()); err != nil {
		t.Errorf("the outbox's Check: %v", err)
	}
	if err := t.inboxOn(t.db).Check(t.ctx()); err != nil {
		t.Errorf("the inbox's Check: %v", err)
	}
}

func checkFindsMissing(t *env) {
	o := t.outboxOn(t.db, &outbox.Options{Prefix: "missing_"})
	if err := o.Check(t.ctx()); !errors.Is(err, outbox.ErrSchema) {
		t.Errorf("got %v, want outbox.ErrSchema", err)
	}
}

// All but one are there. An outbox needs no inbox, nor the other way round.
func checkFindsOne(t *env, table string) {
	t.exec(`ALTER TABLE {` + table + `} RENAME TO conformance_away`)
	defer t.exec(`ALTER TABLE conformance_away RENAME TO {` + table + `}`)
	wantBox, wantInbox := outbox.ErrSchema, error(nil)
	if table == "inbox" {
		wantBox, wantInbox = nil, outbox.ErrSchema
	}
	if err := t.o.Check(t.ctx()); !errors.Is(err, wantBox) {
		t.Errorf("the outbox's Check: got %v, want %v", err, wantBox)
	}
	if err := t.inboxOn(t.db).Check(t.ctx()); !errors.Is(err, wantInbox) {
		t.Errorf("the inbox's Check: got %v, want %v", err, wantInbox)
	}
}
