package outbox_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// received notes messages of a consumer as of so long ago.
func (b *box) received(consumer string, n int, ago time.Duration) {
	b.Helper()
	tx, err := b.db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer tx.Rollback()
	text := b.sql.SQL(`INSERT INTO {inbox} (consumer, message_id, received_ms) VALUES (?, ?, {clock} - ?)`)
	for i := range n {
		if _, err := tx.ExecContext(b.Context(), text, consumer, fmt.Sprintf("%v-%d", ago, i), ago.Milliseconds()); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

func (b *box) mustForget(in *outbox.Inbox, olderThan time.Duration, want int) {
	b.Helper()
	if n, err := in.Purge(b.Context(), olderThan); n != want || err != nil {
		b.Errorf("%d messages forgotten, %v; want %d", n, err, want)
	}
}

func TestPurgeForgetsWhatIsOldAlone(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.db.SetMaxOpenConns(1)
		in := b.inbox()
		b.mustForget(in, time.Hour, 0)
		b.received("a", 700, 2*time.Hour) // more than a step
		b.received("b", 300, 2*time.Hour)
		b.received("b", 2, 30*time.Minute)
		b.mustForget(in, 3*time.Hour, 0)
		b.mustForget(in, time.Hour, 1000)
		if n := b.number(`SELECT COUNT(*) FROM {inbox} WHERE consumer = 'b' AND message_id LIKE '30m0s-%'`); n != 2 {
			t.Errorf("%d young messages are left, want 2", n)
		}
		b.mustForget(in, time.Hour, 0)
		b.mustForget(in, time.Minute, 2)
	})
}

func TestWhatIsForgottenIsTheFirstAgain(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.effects()
		in := b.inbox()
		b.mustHandle(in, consumer, "id", sql.LevelDefault)
		b.mustForget(in, time.Hour, 0)
		b.exec(`UPDATE {inbox} SET received_ms = received_ms - 7200000`)
		b.mustForget(in, time.Hour, 1)
		if !b.mustHandle(in, consumer, "id", sql.LevelDefault) {
			t.Error("what is forgotten is still known")
		}
		b.wantEffects(2)
	})
}

func TestPurgeRefusesAnAgeThatForgetsAll(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		in := b.inbox()
		b.received("a", 1, time.Hour)
		for _, age := range []time.Duration{0, -time.Hour} {
			if n, err := in.Purge(t.Context(), age); n != 0 || !errors.Is(err, outbox.ErrInvalidOptions) {
				t.Errorf("%v: %d, %v", age, n, err)
			}
		}
	})
}

// Purge waits for no delivery: where rows are locked one by one it leaves out what one has in hand.
func TestPurgeWaitsForNoDelivery(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		if b.Dialect().Lock() == "" {
			t.Skip("one writer: a purge waits for it whatever it deletes")
		}
		in := b.inbox()
		b.received(consumer, 3, 2*time.Hour)
		tx, err := b.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.Exec(b.sql.SQL(`UPDATE {inbox} SET version = 7 WHERE consumer = ? AND message_id = ?`), consumer, "2h0m0s-1"); err != nil {
			t.Fatal(err)
		}
		fresh := b.onced(in, "new") // between the rows that are deleted and after them
		b.mustForget(in, time.Hour, 2)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		b.mustForget(in, time.Hour, 1)
		if err := fresh.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := b.number(`SELECT COUNT(*) FROM {inbox}`); n != 1 {
			t.Errorf("%d messages are left, want the new one", n)
		}
	})
}
