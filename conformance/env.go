package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/internal/txn"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// env is what a case works with.
type env struct {
	testing.TB
	*space
	o *outbox.Outbox // on space.db
}

func (t *env) dialect() dialect.Dialect { return t.h.Dialect }

// oneWriter: the engine has no row locks, and one transaction at a time may write.
func (t *env) oneWriter() bool { return t.dialect().Lock() == "" }

// ctx ends with the case, or when patience is at an end.
func (t *env) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), t.h.Patience)
	t.Cleanup(cancel)
	return ctx
}

// another opens a pool of its own on the same database, as another process has it.
func (t *env) another() *sql.DB {
	t.Helper()
	return t.pool(t.TB)
}

// hooked is another with hooks at its driver.
func (t *env) hooked(h hookdb.Hooks) *sql.DB {
	t.Helper()
	db := hookdb.Open(t.another(), h)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (t *env) outboxOn(db *sql.DB, opts *outbox.Options) *outbox.Outbox {
	t.Helper()
	o, err := outbox.New(db, t.dialect(), opts)
	if err != nil {
		t.Fatalf("make an outbox: %v", err)
	}
	return o
}

// exec runs a statement on the case's pool, again after a conflict with what runs beside it; names in braces are filled
// in as in the library's own.
func (t *env) exec(text string, args ...any) (n int64) {
	t.Helper()
	err := txn.Retry(t.ctx(), t.dialect(), func() (err error) {
		n, err = t.tryExec(text, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

func (t *env) tryExec(text string, args ...any) (int64, error) {
	res, err := t.db.ExecContext(t.ctx(), t.sql.SQL(text), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// number reads one number.
func (t *env) number(text string, args ...any) int64 {
	t.Helper()
	var n int64
	if err := t.db.QueryRowContext(t.ctx(), t.sql.SQL(text), args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

func (t *env) begin(db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// write commits events and answers their ids.
func (t *env) write(events ...outbox.Event) []string {
	t.Helper()
	ids, err := t.tryWrite(t.o, events...)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	return ids
}

func (t *env) tryWrite(o *outbox.Outbox, events ...outbox.Event) (ids []string, err error) {
	err = o.InTx(t.ctx(), func(ctx context.Context, tx *sql.Tx) error {
		ids, err = o.Write(ctx, tx, events...)
		return err
	})
	return ids, err
}

// events makes n events with ids prefix-0, prefix-1, …
func events(prefix string, n int) []outbox.Event {
	out := make([]outbox.Event, n)
	for i := range out {
		out[i] = outbox.Event{ID: fmt.Sprintf("%s-%d", prefix, i), Topic: "conformance", Payload: []byte(prefix)}
	}
	return out
}

// eventually waits until cond holds.
func (t *env) eventually(what string, cond func() bool) {
	t.Helper()
	if !holdsWithin(t.h.Patience, cond) {
		t.Fatalf("not within %v: %s", t.h.Patience, what)
	}
}

func holdsWithin(limit time.Duration, cond func() bool) bool {
	end := time.After(limit)
	tick := time.NewTicker(3 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-end:
			return false
		case <-tick.C:
		}
	}
	return true
}

// await waits for a channel.
func await[T any](t *env, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(t.h.Patience):
		t.Fatalf("not within %v: %s", t.h.Patience, what)
		panic("unreachable")
	}
}
