package outbox_test

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
	"github.com/sqloutbox/sqloutbox/outbox"
)

const consumer = "billing"

func (b *box) inbox() *outbox.Inbox {
	b.Helper()
	in, err := outbox.NewInbox(b.db, b.Dialect(), nil)
	if err != nil {
		b.Fatal(err)
	}
	return in
}

// effects makes the table that effects go to.
func (b *box) effects() { b.exec(`CREATE TABLE effects (n BIGINT NOT NULL)`) }

// handle is a consumer that has been given a message: the note and the effect in one transaction.
func (b *box) handle(ctx context.Context, in *outbox.Inbox, consumer, id string, level sql.IsolationLevel) (first bool, err error) {
	tx, err := b.db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	first, err = in.Once(ctx, tx, consumer, id)
	if err != nil {
		return false, err
	}
	if first {
		if _, err := tx.ExecContext(ctx, `INSERT INTO effects (n) VALUES (1)`); err != nil {
			return false, err
		}
	}
	return first, tx.Commit()
}

// mustHandle handles a message, again after a conflict as a redelivery would.
func (b *box) mustHandle(in *outbox.Inbox, consumer, id string, level sql.IsolationLevel) (first bool) {
	b.Helper()
	for {
		first, err := b.handle(b.Context(), in, consumer, id, level)
		if err == nil {
			return first
		}
		if b.Dialect().Classify(err) != dialect.Conflict {
			b.Error(err)
			return false
		}
		txn.Pause(b.Context(), 5*time.Millisecond)
	}
}

func (b *box) wantEffects(want int64) {
	b.Helper()
	if n := b.number(`SELECT COUNT(*) FROM effects`); n != want {
		b.Errorf("%d effects, want %d", n, want)
	}
}

// levels that a host may choose. SQLite has one only.
func (b *box) levels() []sql.IsolationLevel {
	if b.Dialect().Name() == "sqlite" {
		return []sql.IsolationLevel{sql.LevelDefault}
	}
	return []sql.IsolationLevel{sql.LevelDefault, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSerializable}
}

func TestOfFiftyCallsAtOnceOneIsTheFirst(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.effects()
		b.db.SetMaxOpenConns(50)
		in := b.inbox()
		for i, level := range b.levels() {
			var first atomic.Int64
			var calls sync.WaitGroup
			for range 50 {
				calls.Go(func() {
					if b.mustHandle(in, consumer, level.String(), level) {
						first.Add(1)
					}
				})
			}
			calls.Wait()
			if n := first.Load(); n != 1 {
				t.Errorf("%v: %d of 50 were the first", level, n)
			}
			b.wantEffects(int64(i + 1))
		}
	})
}

func TestAfterARollbackTheNextIsTheFirst(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.effects()
		in := b.inbox()
		for i, level := range b.levels() {
			id := level.String()
			tx := b.onced(in, id)
			results := make(chan bool, 4)
			for range cap(results) {
				go func() { results <- b.mustHandle(in, consumer, id, level) }()
			}
			select { // the others wait, and none is told that the message is handled
			case first := <-results:
				t.Fatalf("%v: %v was answered while the first was not through", level, first)
			case <-time.After(100 * time.Millisecond):
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			n := 0
			for range cap(results) {
				if <-results {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%v: %d of those that had waited were the first", level, n)
			}
			b.wantEffects(int64(i + 1))
		}
	})
}

// onced is a transaction that is the first with a message, and is open.
func (b *box) onced(in *outbox.Inbox, id string) *sql.Tx {
	b.Helper()
	tx, err := b.db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { tx.Rollback() })
	if first, err := in.Once(b.Context(), tx, consumer, id); !first || err != nil {
		b.Fatalf("first %v: %v", first, err)
	}
	return tx
}

// What was committed since a transaction began must not look as if it weren't there.
func TestAnOldSnapshotIsNoFirst(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.effects()
		in := b.inbox()
		for _, level := range b.levels() {
			tx, err := b.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
			if err != nil {
				t.Fatal(err)
			}
			if b.Dialect().Name() == "sqlite" { // Open's transactions have the write lock from their beginning
				_ = tx.Rollback()
				continue
			}
			var n int
			if err := tx.QueryRow(b.sql.SQL(`SELECT COUNT(*) FROM {counters}`)).Scan(&n); err != nil {
				t.Fatal(err)
			}
			if !b.mustHandle(in, consumer, level.String(), sql.LevelDefault) {
				t.Errorf("%v: not the first", level)
			}
			first, err := in.Once(t.Context(), tx, consumer, level.String())
			if first || err != nil && b.Dialect().Classify(err) != dialect.Conflict {
				t.Errorf("%v: first %v, %v", level, first, err)
			}
			_ = tx.Rollback()
		}
	})
}

func TestADuplicateLeavesTheTransactionUsable(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.effects()
		b.db.SetMaxOpenConns(1)
		in := b.inbox()
		b.mustHandle(in, consumer, "a", sql.LevelDefault)
		received := b.number(`SELECT received_ms FROM {inbox}`)
		err := b.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			for _, want := range []struct {
				id    string
				first bool
			}{{"a", false}, {"b", true}, {"b", false}, {"a", false}} {
				if first, err := in.Once(ctx, tx, consumer, want.id); first != want.first || err != nil {
					t.Errorf("%s: %v, %v", want.id, first, err)
				}
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO effects (n) VALUES (1)`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		b.wantEffects(2)
		if n := b.number(`SELECT received_ms FROM {inbox} WHERE message_id = 'a'`); n != received {
			t.Error("a duplicate changes when the message was received")
		}
	})
}
