package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// The shape of a claim: filter and order are those of the index (state, due_ms, seq).
const claimShape = `SELECT seq FROM {events}{use_due} WHERE state = 0 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?{lock_skip}`

const always = int64(1) << 60

func lockRules() []rule {
	return append([]rule{
		{"a locked row is waited for", lockWaits},
		{"a row that another has locked is left out", lockSkips},
		{"a claim locks no more rows than it takes", lockFew},
		{"a claim holds up no writer", lockNoWriter},
		{"a transaction that has read may write", readThenWrite},
		{"a transaction sees what was committed since it began", readsCommitted},
		{"a transaction that was rolled back leaves nothing", rollsBack},
		{"parameters are bound in their order", bindsInOrder},
	}, slices.Concat(
		inEach("what the host has inserted and not committed is waited for by no relay", lockNoInsert),
		inEach("what the host has inserted and not committed is waited for by no feed", lockNoInsertFeed))...)
}

// soon is long enough for a statement that need not wait, where nothing else keeps the machine.
const soon = 200 * time.Millisecond

// aside runs f beside what the case does; done gives its error.
func aside(f func() error) (done <-chan error) {
	c := make(chan error, 1)
	go func() { c <- f() }()
	return c
}

// waits reports whether something is still not done soon after it began. That it must not wait is to be shown by
// awaiting it, which no slow machine can spoil.
func waits(done <-chan error) bool { return !holdsWithin(soon, func() bool { return len(done) > 0 }) }

func lockWaits(t *env) {
	t.exec(`INSERT INTO {leases} (name) VALUES (?)`, "x")
	const lock = `SELECT token FROM {leases} WHERE name = ?{lock}`
	first := t.libraryTx(t.ctx())
	t.numberIn(first, lock, "x")
	second := t.another()
	done := aside(func() error {
		tx, err := t.dialect().Begin(t.ctx(), second)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		_, err = rows.Int64s(t.ctx(), tx, t.sql.SQL(lock), "x")
		return err
	})
	if !waits(done) {
		t.Error("a second transaction locked a row that the first has locked: where Lock is empty, Begin must exclude every other writer")
	}
	if _, err := first.ExecContext(t.ctx(), t.sql.SQL(`UPDATE {leases} SET token = 1 WHERE name = ?`), "x"); err != nil {
		t.Error(err)
	}
	if err := first.Commit(); err != nil {
		t.Error(err)
	}
	if err := await(t, "the lock is had once it is free", done); err != nil {
		t.Error(err)
	}
}

// claimers opens two claims of n rows each, out of so many events. Where there is one writer the second waits for the first.
func (t *env) claimers(of, n int) (first, second []int64) {
	t.write(events("e", of)...)
	if t.oneWriter() {
		return t.claimOnce(n), nil
	}
	ctx, cancel := context.WithTimeout(t.ctx(), 5*time.Second)
	defer cancel()
	var got [2][]int64
	for i := range got {
		tx := t.libraryTx(ctx)
		defer tx.Rollback()
		var err error
		if got[i], err = rows.Int64s(ctx, tx, t.sql.SQL(claimShape), always, int64(n)); err != nil {
			t.Fatalf("claim %d: %v", i+1, err)
		}
	}
	return got[0], got[1]
}

func (t *env) claimOnce(n int) []int64 {
	tx := t.libraryTx(t.ctx())
	defer tx.Rollback()
	got, err := rows.Int64s(t.ctx(), tx, t.sql.SQL(claimShape), always, int64(n))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func lockSkips(t *env) {
	first, second := t.claimers(4, 2)
	if len(first) != 2 || !t.oneWriter() && len(second) != 2 {
		t.Errorf("of 4 rows two claims of 2 took %v and %v", first, second)
	}
	for _, seq := range second {
		if slices.Contains(first, seq) {
			t.Errorf("row %d is in both claims", seq)
		}
	}
}

func lockFew(t *env) {
	first, second := t.claimers(100, 5)
	if len(first) != 5 || !t.oneWriter() && len(second) != 5 {
		t.Errorf("of 100 rows two claims of 5 took %v and %v", first, second)
	}
}

// Where there is one writer everybody waits for everybody; what counts there is that a claim is short.
func lockNoWriter(t *env) {
	t.write(events("e", 10)...)
	tx := t.libraryTx(t.ctx())
	defer tx.Rollback()
	if _, err := rows.Int64s(t.ctx(), tx, t.sql.SQL(claimShape), always, int64(5)); err != nil {
		t.Fatal(err)
	}
	if t.oneWriter() {
		t.Skip("one writer: a write waits for the claim")
	}
	done := aside(func() error {
		_, err := t.tryWrite(t.o, events("w", 3)...)
		return err
	})
	if err := await(t, "a write is done while a claim is open", done); err != nil {
		t.Error(err)
	}
}

// The host's events stand right behind those of a turn, where an engine that locks more than the rows it changes meets them.
// What is published is deleted, and then kept: settled by ranges, InnoDB was seen to wait in the DELETE, and not in the UPDATE.
func lockNoInsert(t *env, order relay.Order) {
	if t.oneWriter() {
		t.Skip("one writer: a relay waits for whoever writes")
	}
	for _, kept := range []time.Duration{0, time.Hour} {
		opts := quick(order)
		opts.Retention = kept
		p := &receiver{}
		r := t.otherRelay(p, opts)
		name := fmt.Sprint(order, " ", kept) // ids of its own: see lateFound
		ids := t.write(events(name, 20)...)
		host := t.begin(t.another())
		inserted, err := t.o.Write(t.ctx(), host, events("host "+name, 2)...)
		if err != nil {
			t.Fatal(err)
		}
		done := aside(func() error {
			_, err := r.Drain(t.ctx())
			return err
		})
		if err := await(t, "what was committed is handed over and recorded while the host's transaction is open", done); err != nil {
			t.Error(err)
		}
		sameIDs(t, "handed over before the host commits", p.ids(), ids)
		if err := host.Commit(); err != nil {
			t.Fatal(err)
		}
		t.drain(r)
		sameIDs(t, "handed over", p.ids(), append(ids, inserted...))
	}
}

// The same for what a feed adds: numbers, purge and back-fill lock events that are there, and no others.
func lockNoInsertFeed(t *env, order relay.Order) {
	if t.oneWriter() {
		t.Skip("one writer: a relay waits for whoever writes")
	}
	t.write(events("old", 20)...)
	opts := keeping(order)
	t.drain(t.otherRelay(&receiver{}, opts))
	ids := t.write(events("e", 20)...)
	host := t.begin(t.another())
	if _, err := t.o.Write(t.ctx(), host, events("host", 2)...); err != nil {
		t.Fatal(err)
	}
	o, p := t.feeding(), &receiver{}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"published with numbers", func() error {
			_, err := t.relayOn(o, p, opts).Drain(t.ctx())
			return err
		}},
		{"back-filled", func() error { return o.Feed().BackFill(t.ctx(), nil) }},
		{"purged", func() error {
			t.exec(`UPDATE {feed} SET published_ms = 1`)
			n, err := o.Purge(t.ctx(), outbox.PurgeOptions{Published: time.Hour})
			if err == nil && n != 40 {
				err = fmt.Errorf("%d were, want 40", n)
			}
			return err
		}},
	} {
		if err := await(t, "what was committed is "+step.what+" while the host's transaction is open", aside(step.do)); err != nil {
			t.Fatal(step.what, err)
		}
	}
	sameIDs(t, "handed over", p.ids(), ids)
}

func readThenWrite(t *env) {
	t.exec(`INSERT INTO conformance_host VALUES (1, 0)`)
	tx := t.libraryTx(t.ctx())
	defer tx.Rollback()
	t.numberIn(tx, `SELECT COUNT(*) FROM conformance_host`)
	other := aside(func() error {
		_, err := t.tryExec(`INSERT INTO conformance_host VALUES (2, 0)`)
		return err
	})
	waits(other) // as it must where there is one writer
	_, err := tx.ExecContext(t.ctx(), t.sql.SQL(`UPDATE conformance_host SET n = 1 WHERE id = 1`))
	if err != nil {
		t.Errorf("write after another has written: %v (class %v)", err, t.dialect().Classify(err))
		_ = tx.Rollback()
	} else if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if err := await(t, "the other writer is done", other); err != nil {
		t.Errorf("the other writer: %v", err)
	}
}

func readsCommitted(t *env) {
	if t.oneWriter() {
		t.Skip("one writer: nothing is committed while a transaction is open")
	}
	tx := t.libraryTx(t.ctx())
	defer tx.Rollback()
	const count = `SELECT COUNT(*) FROM conformance_host`
	t.numberIn(tx, count)
	done := aside(func() error {
		_, err := t.tryExec(`INSERT INTO conformance_host VALUES (2, 0)`)
		return err
	})
	if err := await(t, "another writes meanwhile", done); err != nil {
		t.Fatal(err)
	}
	if n := t.numberIn(tx, count); n != 1 {
		t.Error("a row that was committed meanwhile is not seen: Begin must ask for READ COMMITTED")
	}
}

func rollsBack(t *env) {
	one := t.another()
	one.SetMaxOpenConns(1)
	for _, end := range []func(dialect.Tx) error{dialect.Tx.Rollback, dialect.Tx.Commit} {
		tx, err := t.dialect().Begin(t.ctx(), one) // hangs if the one before kept the connection
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.ctx(), `INSERT INTO conformance_host VALUES (1, 0)`); err != nil {
			t.Error(err)
		}
		if err := end(tx); err != nil {
			t.Error(err)
		}
	}
	if n := t.number(`SELECT COUNT(*) FROM conformance_host`); n != 1 {
		t.Errorf("%d rows, want the one that was committed", n)
	}
}

func bindsInOrder(t *env) {
	for i := range int64(12) {
		t.exec(`INSERT INTO conformance_host (id, n) VALUES (?, ?)`, i, 100+i)
	}
	n := t.number(`SELECT COUNT(*) FROM conformance_host WHERE n - id = 100 AND id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) AND n >= ?`,
		int64(0), int64(1), int64(2), int64(3), int64(4), int64(5), int64(6), int64(7), int64(8), int64(9), int64(10), int64(11), int64(111))
	if n != 1 {
		t.Errorf("%d rows fit, want 1", n)
	}
}
