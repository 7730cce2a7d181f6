package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// What a Write in the host's transaction sends, each time but for the first, and what an Inbox does.
func TestAWriteSendsSoManyStatements(t *testing.T) {
	want := map[string]int{"sqlite": 2, "postgres": 1, "mysql": 2, "mariadb": 1} // MariaDB's INSERT looks by itself
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d := e.Migrated(t)
		var sent []string
		hooked := hookdb.Open(db, hookdb.Hooks{Before: func(query string) error {
			sent = append(sent, query)
			return nil
		}})
		defer hooked.Close()
		o, err := outbox.New(hooked, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		in, err := outbox.NewInbox(hooked, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		calls := map[string]func(tx *sql.Tx) error{
			"one": func(tx *sql.Tx) error {
				_, err := o.Write(t.Context(), tx, outbox.Event{Topic: "t"})
				return err
			},
			"a hundred": func(tx *sql.Tx) error {
				_, err := o.Write(t.Context(), tx, slices.Repeat([]outbox.Event{{Topic: "t"}}, 100)...)
				return err
			},
			"once": func(tx *sql.Tx) error {
				_, err := in.Once(t.Context(), tx, "c", "m")
				return err
			},
		}
		for name, call := range calls {
			for _, last := range []bool{false, true} {
				tx, err := hooked.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				sent = nil
				if err := call(tx); err != nil {
					t.Error(err)
				}
				if last && len(sent) != want[e.Name] {
					t.Errorf("%s sent %d statements, want %d, the last of them %.80q", name, len(sent), want[e.Name], sent[len(sent)-1])
				}
				if err := tx.Commit(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// A pool may lead to another server one day, which does not know what the one before did.
func TestAServerThatDoesNotKnowTheGuardAnyMoreIsAskedAgain(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d := e.Migrated(t)
		var moved atomic.Bool
		hooked := hookdb.Open(db, hookdb.Hooks{Rewrite: func(query string) string {
			if moved.Load() {
				return strings.ReplaceAll(query, "@@in_transaction", "@@in_transaction_no_more")
			}
			return query
		}})
		defer hooked.Close()
		o, err := outbox.New(hooked, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		write := func() error {
			tx, err := hooked.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := o.Write(t.Context(), tx, outbox.Event{Topic: "t"}); err != nil {
				return err
			}
			return tx.Commit()
		}
		for range 2 {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		}
		moved.Store(true)
		if err := write(); (err != nil) != (e.Name == "mariadb") || errors.Is(err, outbox.ErrNoTransaction) {
			t.Errorf("the first Write on another server: %v", err)
		}
		if err := write(); err != nil {
			t.Errorf("the second: %v", err)
		}
	})
}

// A host has turned autocommit off for one session of its pool. There the guard can't tell, and says no; it is not believed twice.
func TestASessionWithoutAutocommitIsRefusedOnceAtMost(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		if e.Name != "mysql" && e.Name != "mariadb" {
			return
		}
		db, d := e.Migrated(t)
		o := newBox(t, db, d)
		for range 2 {
			if err := o.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				_, err := o.Write(ctx, tx, outbox.Event{Topic: "t"})
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		conn, err := o.DB().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.ExecContext(t.Context(), "SET autocommit = 0"); err != nil {
			t.Fatal(err)
		}
		for try := range 3 {
			tx, err := conn.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = o.Write(t.Context(), tx, outbox.Event{Topic: "t"})
			if refused := try == 0 && e.Name == "mariadb"; errors.Is(err, outbox.ErrNoTransaction) != refused || !refused && err != nil {
				t.Errorf("try %d: %v", try+1, err)
			}
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
		}
		if _, err := conn.ExecContext(t.Context(), "SET autocommit = 1"); err != nil {
			t.Error(err)
		}
	})
}
