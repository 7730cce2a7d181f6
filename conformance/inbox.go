package conformance

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/txn"
	"github.com/sqloutbox/sqloutbox/outbox"
)

func inboxRules() []rule {
	return []rule{
		{"of all that handle a message at once one is the first", inboxRace},
		{"who is behind the first with a message waits for it, and is the first if that one rolls back", inboxRollback},
		{"a message that was handled leaves the transaction usable", inboxAgain},
		{"messages that differ by case, accent or trailing space are different", inboxBytes},
		{"a consumer's or message's name beyond the limits is refused, and the transaction stays usable", inboxInput},
		{"a transaction that ended unnoticed notes no message", inboxGhost},
		{"a transaction that is nil, or a nil pointer, is refused", inboxNil},
		{"only messages of the age that is given are forgotten", inboxPurge},
	}
}

func (t *env) inboxOn(db *sql.DB) *outbox.Inbox {
	t.Helper()
	in, err := outbox.NewInbox(db, t.dialect(), nil)
	if err != nil {
		t.Fatalf("make an inbox: %v", err)
	}
	return in
}

// handle is a delivery: the message is noted and takes effect in one transaction, which is run again after a conflict.
func (t *env) handle(o *outbox.Outbox, consumer, id string) (first bool, err error) {
	in := t.inboxOn(o.DB())
	err = txn.Retry(t.ctx(), t.dialect(), func() error {
		return o.InTx(t.ctx(), func(ctx context.Context, tx *sql.Tx) error {
			first, err = in.Once(ctx, tx, consumer, id)
			if err != nil || !first {
				return err
			}
			_, err := tx.ExecContext(ctx, t.sql.SQL(`UPDATE conformance_host SET n = n + 1 WHERE id = 1`))
			return err
		})
	})
	return first, err
}

// wantHandled handles a message on the case's own pool.
func (t *env) wantHandled(consumer, id string, want bool) {
	t.Helper()
	if first, err := t.handle(t.o, consumer, id); first != want || err != nil {
		t.Errorf("%.40q of %.40q: first %v, %v; want %v", id, consumer, first, err, want)
	}
}

func (t *env) wantEffects(want int64) {
	t.Helper()
	if n := t.number(`SELECT n FROM conformance_host WHERE id = 1`); n != want {
		t.Errorf("%d effects, want %d", n, want)
	}
}

func (t *env) noEffects() { t.exec(`INSERT INTO conformance_host VALUES (1, 0)`) }

func inboxRace(t *env) {
	t.noEffects()
	var firsts atomic.Int64
	t.together(10, func(_ int, o *outbox.Outbox) error {
		errs := make([]error, 5)
		var calls sync.WaitGroup
		for i := range errs {
			calls.Go(func() {
				first, err := t.handle(o, "c", "m")
				if errs[i] = err; first && err == nil {
					firsts.Add(1)
				}
			})
		}
		calls.Wait()
		return errors.Join(errs...)
	})
	if n := firsts.Load(); n != 1 {
		t.Errorf("%d of 50 were the first", n)
	}
	t.wantEffects(1)
}

func inboxRollback(t *env) {
	t.noEffects()
	db := t.another()
	tx := t.begin(db)
	if first, err := t.inboxOn(db).Once(t.ctx(), tx, "c", "m"); !first || err != nil {
		t.Fatalf("first %v, %v", first, err)
	}
	answers := make(chan bool, 3)
	var others sync.WaitGroup
	for range cap(answers) {
		o := t.outboxOn(t.another(), nil)
		others.Go(func() {
			first, err := t.handle(o, "c", "m")
			if err != nil {
				t.Error(err)
			}
			answers <- first
		})
	}
	select {
	case first := <-answers:
		t.Errorf("%v was answered while the first was not through", first)
	case <-time.After(100 * time.Millisecond):
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	others.Wait()
	close(answers)
	n := 0
	for first := range answers {
		if first {
			n++
		}
	}
	if n > 1 || n == 0 && !t.Failed() {
		t.Errorf("%d of those that waited were the first", n)
	}
	t.wantEffects(1)
}

func inboxAgain(t *env) {
	t.noEffects()
	t.wantHandled("c", "m", true)
	err := t.o.InTx(t.ctx(), func(ctx context.Context, tx *sql.Tx) error {
		in := t.inboxOn(t.o.DB())
		for range 2 {
			if first, err := in.Once(ctx, tx, "c", "m"); first || err != nil {
				t.Errorf("first %v, %v", first, err)
			}
		}
		if first, err := in.Once(ctx, tx, "c", "next"); !first || err != nil {
			t.Errorf("the next: first %v, %v", first, err)
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO conformance_host VALUES (2, 0)`)
		return err
	})
	if err != nil {
		t.Fatalf("the transaction is spoiled: %v", err)
	}
	t.wantHandled("c", "next", false)
	t.wantEffects(1)
}

func inboxBytes(t *env) {
	t.noEffects()
	names := []string{"a", "A", "á", "a\u0301", "a ", "a\t", "ss", "ß", rep(outbox.MaxMessageIDLen), rep(outbox.MaxMessageIDLen - 1)}
	for _, want := range []bool{true, false} {
		for _, name := range names {
			t.wantHandled("consumer", name, want)
			t.wantHandled(name, "id", want)
		}
		t.wantHandled("ab", "c", want)
		t.wantHandled("a", "bc", want)
	}
	t.wantEffects(int64(2*len(names) + 2))
}

func inboxInput(t *env) {
	err := t.o.InTx(t.ctx(), func(ctx context.Context, tx *sql.Tx) error {
		in := t.inboxOn(t.o.DB())
		for _, bad := range []string{"", rep(256), strings.Repeat("é", 128), "a\x00b", "\xff"} {
			for _, call := range [][2]string{{bad, "id"}, {"consumer", bad}} {
				if _, err := in.Once(ctx, tx, call[0], call[1]); !errors.Is(err, outbox.ErrInvalidOptions) {
					t.Errorf("%.20q: got %v, want outbox.ErrInvalidOptions", call, err)
				}
			}
		}
		_, err := in.Once(ctx, tx, "consumer", "id")
		return err
	})
	if err != nil {
		t.Errorf("the transaction was spoiled: %v", err)
	}
	if n := t.number(`SELECT COUNT(*) FROM {inbox}`); n != 1 {
		t.Errorf("%d messages are noted, want 1", n)
	}
}

func inboxNil(t *env) {
	var never *sql.Tx
	for _, tx := range []outbox.Tx{nil, never} {
		if first, err := t.inboxOn(t.o.DB()).Once(t.ctx(), tx, "c", "m"); first || !errors.Is(err, outbox.ErrNoTransaction) {
			t.Errorf("once: %v, %v; want outbox.ErrNoTransaction", first, err)
		}
		if _, err := t.o.Write(t.ctx(), tx, events("e", 1)...); !errors.Is(err, outbox.ErrNoTransaction) {
			t.Errorf("write: %v, want outbox.ErrNoTransaction", err)
		}
	}
}

func inboxGhost(t *env) {
	db := t.another()
	tx := t.begin(db)
	t.endUnnoticed(tx)
	if first, err := t.inboxOn(db).Once(t.ctx(), tx, "c", "m"); first || !errors.Is(err, outbox.ErrNoTransaction) {
		t.Errorf("first %v, %v; want outbox.ErrNoTransaction", first, err)
	}
	_ = tx.Rollback()
	if n := t.number(`SELECT COUNT(*) FROM {inbox}`); n != 0 {
		t.Errorf("%d messages are noted", n)
	}
}

func inboxPurge(t *env) {
	t.noEffects()
	in := t.inboxOn(t.db)
	want := func(olderThan time.Duration, want int) {
		t.Helper()
		if n, err := in.Purge(t.ctx(), olderThan); n != want || err != nil {
			t.Errorf("%v: %d messages forgotten, %v; want %d", olderThan, n, err, want)
		}
	}
	t.wantHandled("a", "old", true)
	t.wantHandled("b", "old", true)
	t.exec(`UPDATE {inbox} SET received_ms = received_ms - 7200000`)
	t.wantHandled("c", "old", true) // of another consumer, and of now
	t.wantHandled("a", "new", true)
	t.wantHandled("a", "old", false) // which makes it no younger
	want(3*time.Hour, 0)
	want(time.Hour, 2)
	want(time.Hour, 0)
	t.wantHandled("c", "old", false)
	t.wantHandled("a", "new", false)
	t.wantHandled("a", "old", true)
	if n, err := in.Purge(t.ctx(), 0); n != 0 || !errors.Is(err, outbox.ErrInvalidOptions) {
		t.Errorf("no age: %d, %v; want outbox.ErrInvalidOptions", n, err)
	}
}
