package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/relay"
)

// each runs fn on the two engines that this example is for.
func each(t *testing.T, fn func(t *testing.T, e *engines.Engine)) {
	t.Helper()
	engines.EachOf(t, []string{"sqlite", "postgres"}, fn)
}

// onPostgres skips where ENGINES narrows the run to other engines.
func onPostgres(t *testing.T) *shop {
	t.Helper()
	return openTestShop(t, engines.One(t, "postgres").NewDatabase(t))
}

func openTestShop(t *testing.T, url string) *shop {
	t.Helper()
	s, err := openShop(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	return s
}

func TestRowAndEventCommitTogetherAndRollBackTogether(t *testing.T) {
	each(t, func(t *testing.T, e *engines.Engine) {
		s := openTestShop(t, e.NewDatabase(t))
		for _, w := range s.ways() {
			t.Run(w.name, func(t *testing.T) {
				err := w.placeOne(t.Context(), s, "gone", func() error { return errChangedMind })
				if !errors.Is(err, errChangedMind) {
					t.Fatalf("%v, want %v", err, errChangedMind)
				}
				s.expect(t, 0, 0)
				if err := w.placeOne(t.Context(), s, "kept", func() error { return nil }); err != nil {
					t.Fatal(err)
				}
				s.expect(t, 1, 1)
				if got := s.published(t); got != `{"order":"kept"}` {
					t.Errorf("published %q", got)
				}
				if _, err := s.db.ExecContext(t.Context(), "DELETE FROM orms_orders"); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

func (s *shop) expect(t *testing.T, orders, events int64) {
	t.Helper()
	gotOrders, gotEvents, err := s.counts(t.Context())
	if err != nil || gotOrders != orders || gotEvents != events {
		t.Errorf("%d orders, %d events (%v), want %d and %d", gotOrders, gotEvents, err, orders, events)
	}
}

// published drains the outbox.
func (s *shop) published(t *testing.T) string {
	t.Helper()
	var got []string
	r, err := relay.New(s.o, relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
		got = append(got, string(m.Payload))
		return nil
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, " ")
}

func TestGorm(t *testing.T) {
	s := onPostgres(t)
	open := func(prepare bool) *gorm.DB {
		t.Helper()
		g, err := gorm.Open(postgres.New(postgres.Config{Conn: s.db}), &gorm.Config{PrepareStmt: prepare})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	t.Run("no transaction is an error", func(t *testing.T) {
		if _, err := gormTx(open(false)); err == nil || !strings.Contains(err.Error(), "*sql.DB") {
			t.Errorf("%v, want an error that names what gorm holds", err)
		}
	})
	t.Run("with prepared statements", func(t *testing.T) {
		err := open(true).Transaction(func(g *gorm.DB) error {
			tx, err := gormTx(g)
			if err != nil {
				return err
			}
			_, err = s.o.Write(t.Context(), tx, event("prepared"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.published(t); got != `{"order":"prepared"}` {
			t.Errorf("published %q", got)
		}
	})
}

// This is why bun.go gives tx.Tx to Write. Should it fail, because bun sends arguments by then, its comment can go.
func TestBunsOwnTxSendsNoArgumentsToPostgres(t *testing.T) {
	s := onPostgres(t)
	err := bun.NewDB(s.db, pgdialect.New()).RunInTx(t.Context(), nil, func(ctx context.Context, tx bun.Tx) error {
		_, err := s.o.Write(ctx, tx, event("x"))
		return err
	})
	if err == nil {
		t.Error("no error")
	}
	t.Log(err)
	s.expect(t, 0, 0)
}

func TestItRuns(t *testing.T) {
	each(t, func(t *testing.T, e *engines.Engine) {
		url := e.NewDatabase(t)
		var out bytes.Buffer
		if err := run(t.Context(), url, &out); err != nil {
			t.Fatal(err)
		}
		t.Logf("\n%s", out.String())
		if got := strings.Count(out.String(), ": 1 order and 1 event more"); got != 2 {
			t.Errorf("%d ways were tried with success, want 2", got)
		}
	})
	if err := run(t.Context(), "", new(bytes.Buffer)); err != nil {
		t.Error(err)
	}
}
