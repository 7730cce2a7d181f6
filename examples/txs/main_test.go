package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func TestRowAndEventCommitTogetherAndRollBackTogether(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		s, err := openShop(t.Context(), e.NewDatabase(t))
		if err != nil {
			t.Fatal(err)
		}
		defer s.db.Close()
		for _, w := range ways() {
			if w.only != "" && w.only != s.d.Name() {
				continue
			}
			t.Run(strings.ReplaceAll(w.name, "/", " "), func(t *testing.T) {
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
				if _, err := s.db.ExecContext(t.Context(), "DELETE FROM txs_orders"); err != nil {
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
	r, err := relay.New(s.o, collect(&got), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, " ")
}

func TestATransactionThatIsOverIsRefused(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		s, err := openShop(t.Context(), e.NewDatabase(t))
		if err != nil {
			t.Fatal(err)
		}
		defer s.db.Close()
		tx, err := s.db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.o.Write(t.Context(), tx, event("late")); !errors.Is(err, outbox.ErrNoTransaction) {
			t.Errorf("%v, want %v", err, outbox.ErrNoTransaction)
		}
	})
}

func TestItRuns(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		var out bytes.Buffer
		if err := run(t.Context(), e.NewDatabase(t), &out); err != nil {
			t.Fatal(err)
		}
		t.Logf("\n%s", out.String())
		want := 2
		if e.Name == "postgres" {
			want = 4
		}
		if got := strings.Count(out.String(), ": 1 order and 1 event more"); got != want {
			t.Errorf("%d ways were tried with success, want %d", got, want)
		}
	})
	if err := run(t.Context(), "", new(bytes.Buffer)); err != nil {
		t.Error(err)
	}
}

// collect is a publisher that keeps the payloads.
func collect(payloads *[]string) relay.Publisher {
	return relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
		*payloads = append(*payloads, string(m.Payload))
		return nil
	})
}
