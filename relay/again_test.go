package relay_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// A host's tests empty its tables in between, numbers and all, while a relay runs.
func TestARelayFindsWhatIsWrittenUnderANumberThatItHasTakenBefore(t *testing.T) {
	empty := map[string][]string{
		"postgres": {"TRUNCATE outbox_events RESTART IDENTITY"}, "mysql": {"TRUNCATE outbox_events"}, "mariadb": {"TRUNCATE outbox_events"},
		"sqlite": {"DELETE FROM outbox_events", "DELETE FROM sqlite_sequence WHERE name = 'outbox_events'"},
	}
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			t.Run(order.String(), func(t *testing.T) {
				o := newOutbox(t, e)
				var commits atomic.Int64
				db := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(query string) error {
					if query == hookdb.Commit {
						commits.Add(1)
					}
					return nil
				}})
				defer db.Close()
				got := make(chan string, 1)
				r := relayOf(t, outboxOn(t, db, o), relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
					got <- m.ID
					return nil
				}), &relay.Options{Order: order})
				stop := running(t, r)
				for round := range 3 {
					for i := range 5 {
						id := fmt.Sprint(round, "/", i)
						before := commits.Load()
						write(t, o, outbox.Event{ID: id, Topic: "t", Key: "k"})
						r.Wake()
						if first := <-got; first != id {
							t.Fatalf("%s came, want %s", first, id)
						}
						if n := commits.Load() - before; n > 20 { // some are of the turn before, and of signs of life
							t.Errorf("%s: %d transactions before it was handed over", id, n)
						}
					}
					until(t, "all is settled", func() bool { s, err := o.Stats(t.Context()); return err == nil && s.Pending == 0 })
					for _, statement := range empty[e.Name] {
						if _, err := o.DB().Exec(statement); err != nil {
							t.Fatal(err)
						}
					}
				}
				stop()
			})
		}
	})
}

// Plain SQL gives times that have passed: what was due first comes first, beside all that is newer.
func TestWhatWasDueBeforeItWasWrittenIsNotPassedBy(t *testing.T) {
	const early, late = 60, 600
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		from := time.Now().Add(-time.Minute).UnixMilli()
		for i := range early {
			_, err := o.DB().Exec(o.Dialect().Bind("INSERT INTO outbox_events (id, topic, payload, state, due_ms) VALUES (?, 't', ?, 3, ?)"),
				fmt.Sprint("early ", i), []byte("x"), from+int64(i))
			if err != nil {
				t.Fatal(err)
			}
		}
		events := make([]outbox.Event, late)
		for i := range events {
			events[i] = outbox.Event{ID: fmt.Sprint("late ", i), Topic: "t"}
		}
		write(t, o, events...)
		var mu sync.Mutex
		newer, passed := 0, 0
		r := relayOf(t, o, relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
			mu.Lock()
			defer mu.Unlock()
			if strings.HasPrefix(m.ID, "late") {
				newer++
			} else {
				passed = max(passed, newer)
			}
			return nil
		}), &relay.Options{Order: relay.OrderNone, Batch: 5, Concurrency: 1})
		drain(t, r, early+late)
		if passed > 10 { // two batches are in hand
			t.Errorf("%d that are newer came before the last of those", passed)
		}
	})
}
