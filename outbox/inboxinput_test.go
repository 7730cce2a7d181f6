package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
)

func TestMessagesAreToldApartByteByByte(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.effects()
		in := b.inbox()
		names := []string{
			"a", "A", "á", "a\u0301", "a ", " a", "a\t", "ss", "ß", "'", `\`, "%", "?", "\U0001F600",
			strings.Repeat("x", 254), strings.Repeat("x", 255), strings.Repeat("é", 127),
		}
		for _, name := range names {
			if !b.mustHandle(in, consumer, name, sql.LevelDefault) || !b.mustHandle(in, name, "id", sql.LevelDefault) {
				t.Errorf("%q is taken for another", name)
			}
		}
		for _, name := range names {
			if b.mustHandle(in, consumer, name, sql.LevelDefault) || b.mustHandle(in, name, "id", sql.LevelDefault) {
				t.Errorf("%q is not known again", name)
			}
		}
		// The border between the two names counts.
		if !b.mustHandle(in, "ab", "c", sql.LevelDefault) || !b.mustHandle(in, "a", "bc", sql.LevelDefault) {
			t.Error("names that are the same side by side are taken for each other")
		}
	})
}

func TestOnceRefusesWhatIsNoName(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		in := b.inbox()
		tx, err := b.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		for _, bad := range []string{"", strings.Repeat("x", 256), strings.Repeat("é", 128), "a\x00", "\xff", "\xed\xa0\x80"} {
			for field, call := range map[string][2]string{"consumer": {bad, "id"}, "message id": {consumer, bad}} {
				_, err := in.Once(t.Context(), tx, call[0], call[1])
				if !errors.Is(err, outbox.ErrInvalidOptions) || !strings.Contains(err.Error(), "the "+field+" ") {
					t.Errorf("%s %.20q: %v", field, bad, err)
				}
			}
		}
		if first, err := in.Once(t.Context(), tx, consumer, "id"); !first || err != nil {
			t.Errorf("the transaction is spoiled: %v, %v", first, err)
		}
	})
}

func TestATransactionThatHasEndedNotesNothing(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		in := b.inbox()
		if _, err := in.Once(t.Context(), nil, consumer, "nil"); !errors.Is(err, outbox.ErrNoTransaction) {
			t.Errorf("no transaction: %v", err)
		}
		over := b.onced(in, "over")
		if err := over.Commit(); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Once(t.Context(), over, consumer, "late"); !errors.Is(err, outbox.ErrNoTransaction) {
			t.Errorf("a committed transaction: %v", err)
		}
		if b.Dialect().Name() != "postgres" { // there *sql.Tx can't be deceived by an error
			ghost := b.onced(in, "ghost")
			if _, err := ghost.Exec("ROLLBACK"); err != nil {
				t.Fatal(err)
			}
			if first, err := in.Once(t.Context(), ghost, consumer, "ghost"); first || !errors.Is(err, outbox.ErrNoTransaction) {
				t.Errorf("a transaction that has silently ended: %v, %v", first, err)
			}
			_ = ghost.Rollback()
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		open := b.onced(in, "open")
		if _, err := in.Once(ended, open, consumer, "cancelled"); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that has ended: %v", err)
		}
		if err := open.Commit(); err != nil {
			t.Error(err)
		}
		if n := b.number(`SELECT COUNT(*) FROM {inbox}`); n != 2 {
			t.Errorf("%d messages are noted, want 2", n)
		}
	})
}

// clientFoundRows makes MySQL's driver count rows that a statement finds, changed or not.
func TestTheDriversWayToCountRowsDoesNotMatter(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		if e.Name != "mysql" && e.Name != "mariadb" {
			t.Skip("only MySQL's driver has a choice")
		}
		for _, params := range []string{"", "?clientFoundRows=true", "?interpolateParams=false&clientFoundRows=true"} {
			db, d, err := all.Open(e.NewDatabase(t) + params)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { db.Close() })
			if err := migrations.Up(t.Context(), db, d, nil); err != nil {
				t.Fatal(err)
			}
			b := newBox(t, db, d)
			b.effects()
			for i := range 3 {
				if first := b.mustHandle(b.inbox(), consumer, "id", sql.LevelDefault); first != (i == 0) {
					t.Errorf("%q: call %d: first %v", params, i, first)
				}
			}
		}
	})
}

func TestNewInboxRefusesWhatNewRefuses(t *testing.T) {
	d := sqlite.New()
	db, err := sqlite.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, make := range map[string]func() (*outbox.Inbox, error){
		"db":      func() (*outbox.Inbox, error) { return outbox.NewInbox(nil, d, nil) },
		"dialect": func() (*outbox.Inbox, error) { return outbox.NewInbox(db, nil, nil) },
		"Prefix":  func() (*outbox.Inbox, error) { return outbox.NewInbox(db, d, &outbox.InboxOptions{Prefix: "a b"}) },
		"Schema":  func() (*outbox.Inbox, error) { return outbox.NewInbox(db, d, &outbox.InboxOptions{Schema: "s"}) },
	} {
		in, err := make()
		if in != nil || !errors.Is(err, outbox.ErrInvalidOptions) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnInboxMayHaveAPrefixOfItsOwn(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		if err := migrations.Up(t.Context(), b.db, b.Dialect(), &migrations.Options{Prefix: "shop_"}); err != nil {
			t.Fatal(err)
		}
		in, err := outbox.NewInbox(b.db, b.Dialect(), &outbox.InboxOptions{Prefix: "shop_", SkipTxCheck: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.onced(in, "id").Commit(); err != nil {
			t.Fatal(err)
		}
		if err := b.onced(b.inbox(), "id").Commit(); err != nil {
			t.Error(err)
		}
		if n := b.number(`SELECT COUNT(*) FROM shop_inbox`); n != 1 {
			t.Errorf("shop_inbox holds %d messages", n)
		}
	})
}
