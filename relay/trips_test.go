package relay_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// What a batch costs is what is sent for it: a statement more shows in every rate, and in no other test.
func TestABatchCostsSoManyStatements(t *testing.T) {
	const batch, batches = 100, 10
	want := map[relay.Order][]string{
		relay.OrderTotal:  {"settle, look, fence"},
		relay.OrderPerKey: {"settle, look, fence"},
		relay.OrderNone:   {"settle, look, claim"},
	}
	atTheEnd := map[relay.Order][]string{ // once little or nothing is left: is there anything further on, or before the place that was read from?
		relay.OrderTotal:  {"settle, look, below, fence", "settle, look, look, below, fence", "settle, look, look, fence"},
		relay.OrderPerKey: {"settle, look, below, fence", "settle, look, look, below, fence", "settle, look, look, fence"},
		relay.OrderNone:   {"settle, look, look, claim", "settle, look, look", "settle, look"},
	}
	begin := map[string]string{
		"sqlite": "begin, %s, commit", "postgres": "begin, %s, commit",
		"mysql": "set, begin, %s, commit", "mariadb": "set, begin, %s, commit",
	}
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d := e.Migrated(t)
		for order, bodies := range want {
			t.Run(order.String(), func(t *testing.T) {
				var seen statements
				hooked := hookdb.Open(db, hookdb.Hooks{After: seen.add})
				defer hooked.Close()
				o, err := outbox.New(hooked, d, nil)
				if err != nil {
					t.Fatal(err)
				}
				err = o.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
					events := make([]outbox.Event, batch*batches)
					for i := range events {
						events[i] = outbox.Event{Topic: "t", Key: fmt.Sprint(i)}
					}
					_, err := o.Write(ctx, tx, events...)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				seen.forget()
				r, err := relay.New(o, relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }),
					&relay.Options{Order: order, Batch: batch, Lease: time.Hour, Poll: time.Hour, PollMax: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				if n, err := r.Drain(t.Context()); n != batch*batches || err != nil {
					t.Fatal(n, err)
				}
				shapes := func(bodies []string) (all []string) {
					for _, body := range bodies {
						all = append(all, fmt.Sprintf(begin[e.Name], body))
					}
					return all
				}
				allowed, last := shapes(bodies), shapes(atTheEnd[order])
				settling, ending := 0, 0
				for shape, n := range seen.transactions() {
					if !strings.Contains(shape, "settle") {
						continue
					}
					if order == relay.OrderNone { // one for each claim
						shape = strings.ReplaceAll(shape, "settle, settle", "settle")
					}
					switch settling += n; {
					case slices.Contains(last, shape):
						ending += n
					case !slices.Contains(allowed, shape):
						t.Errorf("%d transactions were %q, want %q", n, shape, allowed)
					}
				}
				if order != relay.OrderNone && !slices.ContainsFunc(seen.all, func(query string) bool { return strings.Contains(query, "DESC, seq DESC LIMIT 1) IS NULL") }) {
					t.Error("none of the looks read on where another had ended")
				}
				if ending > 3 { // two batches are in hand
					t.Errorf("%d transactions found that nothing is left", ending)
				}
				if settling < batches/2 || settling > batches+1 { // two batches are in hand, and may end together
					t.Errorf("%d batches were settled in %d transactions", batches, settling)
				}
			})
		}
	})
}

// A relay reads on by primary key where what is pending stands close together, and by the index where it does not.
func TestReadingOnGoesPastWhatIsNotPending(t *testing.T) {
	const batch, pending, between = 50, 500, 2000
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range []relay.Order{relay.OrderTotal, relay.OrderPerKey} {
			t.Run(order.String(), func(t *testing.T) {
				o := newOutbox(t, e)
				events := make([]outbox.Event, 2*pending+between)
				var want []string
				for i := range events {
					id := fmt.Sprintf("%05d", i)
					if events[i] = (outbox.Event{ID: id, Topic: "t", Key: "k"}); i >= pending && i < pending+between && i%7 != 0 {
						events[i].Delay = time.Hour
						continue
					}
					want = append(want, id)
				}
				write(t, o, events...)
				var seen statements
				db := hookdb.Open(o.DB(), hookdb.Hooks{After: seen.add})
				defer db.Close()
				var got []string
				drain(t, relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
					got = append(got, m.ID)
					return nil
				}), &relay.Options{Order: order, Batch: batch}), len(want))
				if !slices.Equal(got, want) {
					t.Errorf("%d were handed over, %d wanted, or not in their order", len(got), len(want))
				}
				byKey := slices.ContainsFunc(seen.all, func(query string) bool {
					return strings.Contains(query, "AND state + 0 = 0") && strings.Contains(query, "ORDER BY seq LIMIT")
				})
				if inOrderOfKey := e.Name != "postgres"; byKey != inOrderOfKey {
					t.Errorf("some looks went by the primary key: %v, want %v", byKey, inOrderOfKey)
				}
			})
		}
	})
}

// statements are what was sent, in order.
type statements struct {
	mu  sync.Mutex
	all []string
}

func (s *statements) add(query string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, query)
	return nil
}

func (s *statements) forget() { s.all = nil }

// transactions are those that were committed, by what they sent, with how many there were of each.
func (s *statements) transactions() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	shapes := make(map[string]int)
	var now []string
	for _, query := range s.all {
		if query == hookdb.Connect {
			continue
		}
		now = append(now, kindOf(query))
		switch now[len(now)-1] {
		case "commit":
			shapes[strings.Join(now, ", ")]++
			now = nil
		case "rollback":
			now = nil
		}
		if len(now) == 1 && !slices.Contains([]string{"begin", "set"}, now[0]) { // outside of a transaction
			now = nil
		}
	}
	return shapes
}

func kindOf(query string) string {
	kinds := []struct{ prefix, kind string }{
		{"BEGIN", "begin"}, {"START TRANSACTION", "begin"}, {"SET ", "set"}, {"COMMIT", "commit"}, {"ROLLBACK", "rollback"},
		{"DELETE FROM outbox_events", "settle"}, {"SELECT seq, id, topic", "look"}, {"UPDATE outbox_relays", "fence"},
		{"UPDATE outbox_events", "claim"}, {"SELECT CASE WHEN (SELECT seq", "below"}, {"DELETE outbox_events FROM", "settle"},
	}
	for _, k := range kinds {
		if strings.HasPrefix(query, k.prefix) {
			return k.kind
		}
	}
	return query
}
