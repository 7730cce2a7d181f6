package conformance

import (
	"context"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

const readClock = `SELECT {clock}`

func clockRules() []rule {
	return []rule{
		{"the clock counts milliseconds since 1970", clockCounts},
		{"the clock goes on by itself", clockGoesOn},
		{"the clock goes on inside a transaction", clockInTransaction},
		{"the clock does not go back", clockForward},
		{"the clock knows no time zone", clockZone},
		{"the columns' defaults are by the same clock", clockDefaults},
	}
}

// The machines' clocks may differ, but not by a day.
func clockCounts(t *env) {
	got, now := t.number(readClock), time.Now().UnixMilli()
	if diff := time.Duration(got-now) * time.Millisecond; diff.Abs() > 24*time.Hour {
		t.Errorf("the clock says %d, %v from this machine's", got, diff)
	}
}

// passes waits until this machine's clock has gone on for d.
func passes(t *env, d time.Duration) {
	end := time.Now().Add(d)
	t.eventually("time goes on", func() bool { return time.Now().After(end) })
}

func clockGoesOn(t *env) {
	first := t.number(readClock)
	passes(t, 50*time.Millisecond)
	if passed := t.number(readClock) - first; passed < 25 || passed > 20_000 {
		t.Errorf("in 50 ms the clock went on by %d ms: it must be the database's, read anew by each statement", passed)
	}
}

func clockInTransaction(t *env) {
	tx := t.libraryTx(t.ctx())
	defer tx.Rollback()
	first := t.numberIn(tx, readClock)
	passes(t, 50*time.Millisecond)
	if passed := t.numberIn(tx, readClock) - first; passed < 25 || passed > 20_000 {
		t.Errorf("in 50 ms the clock went on by %d ms inside a transaction: it must not be the time of its start", passed)
	}
}

func clockForward(t *env) {
	tx := t.libraryTx(t.ctx())
	defer tx.Rollback()
	last := int64(0)
	for range 200 {
		now := t.numberIn(tx, readClock)
		if now < last {
			t.Fatalf("the clock went back from %d to %d", last, now)
		}
		last = now
	}
}

// Engines spell the session's time zone differently, and some have none: what one refuses changes nothing.
func clockZone(t *env) {
	conn, err := t.another().Conn(t.ctx())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	want := t.number(readClock)
	for _, set := range []string{"SET time_zone = '+09:00'", "SET TIME ZONE '+09:00'", "SET time_zone = '-07:00'", "SET TIME ZONE '-07:00'"} {
		_, _ = conn.ExecContext(t.ctx(), set)
		var got int64
		if err := conn.QueryRowContext(t.ctx(), t.sql.SQL(readClock)).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if diff := got - want; diff < -1000 || diff > 60_000 {
			t.Errorf("after %s the clock is %d ms off", set, diff)
		}
	}
}

func clockDefaults(t *env) {
	before := t.number(readClock)
	t.exec(`INSERT INTO {events} (id, topic, payload) VALUES (?, ?, ?)`, "default", "t", []byte{})
	after := t.number(readClock)
	for _, column := range []string{"created_ms", "due_ms"} {
		if got := t.number(`SELECT ` + column + ` FROM {events}`); got < before-1 || got > after+1 {
			t.Errorf("%s is %d, want between %d and %d", column, got, before, after)
		}
	}
}

// libraryTx begins a transaction as the library does, on a pool of its own.
func (t *env) libraryTx(ctx context.Context) dialect.Tx {
	t.Helper()
	tx, err := t.dialect().Begin(ctx, t.another())
	if err != nil {
		t.Fatalf("begin a transaction of the library's own: %v", err)
	}
	return tx
}

func (t *env) numberIn(tx dialect.Tx, text string, args ...any) int64 {
	t.Helper()
	all, err := rows.Int64s(t.ctx(), tx, t.sql.SQL(text), args...)
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %d rows, %v", text, len(all), err)
	}
	return all[0]
}
