package relay_test

import (
	"context"
	"slices"
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

// come makes a handler known that begins with the oldest event, and has nothing to replay.
const come = `INSERT INTO outbox_handlers (name, topics, from_seq, since_ms, replayed_to)
VALUES ('new', '["*"]', 0, 5, 9223372036854775807)`

// A handler comes while an event is in hand, which is left for it then. The next one of its order does not get to that handler
// before.
func TestANewHandlerGetsTheEventsOfAKeyInOrder(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range []relay.Order{relay.OrderTotal, relay.OrderPerKey} {
			t.Run(order.String(), func(t *testing.T) {
				o := newOutbox(t, e)
				c := comers{o: o}
				c.drain(t, o, relay.Options{Order: order}, func(relay.Message) {}, "k1", "k2", "k3")
				want := []string{"k1", "k2", "k3"}
				if got := c.of("old", "k"); !slices.Equal(got, want) {
					t.Errorf("the old handler has had %q, want %q", got, want)
				}
				if got := c.of("new", "k"); !slices.Equal(got, want) {
					t.Errorf("the new handler has had %q, want %q", got, want)
				}
			})
		}
	})
}

// The same where the next one has not begun when the first is put back: another key has the only place until then.
func TestWhatStandsBehindAnEventThatIsPutBackIsReadAgain(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		var counted atomic.Bool
		var once sync.Once
		settled := make(chan struct{}) // the first was
		db := hookdb.Open(o.DB(), hookdb.Hooks{After: func(query string) error {
			if strings.HasPrefix(query, "SELECT COUNT(*) FROM outbox_handlers") {
				counted.Store(true)
			} else if query == hookdb.Commit && counted.Load() {
				once.Do(func() { close(settled) })
			}
			return nil
		}})
		defer db.Close()
		on := outboxOn(t, db, o)
		c := comers{o: o}
		c.drain(t, on, relay.Options{Order: relay.OrderPerKey, Concurrency: 1}, func(m relay.Message) {
			if m.ID != "j1" {
				return
			}
			write(t, o, outbox.Event{ID: "k3", Topic: "t", Key: "k"}) // the turn that settles the first reads it too
			c.r.Wake()
			select {
			case <-settled:
			case <-time.After(time.Minute):
				t.Error("the first event is not settled")
			}
		}, "k1", "j1", "k2")
		if got, want := c.of("new", "k"), []string{"k1", "k2", "k3"}; !slices.Equal(got, want) {
			t.Errorf("the new handler has had %q, want %q", got, want)
		}
	})
}

// comers are an old handler and a new one, which comes during the first call of the old one.
type comers struct {
	o     *outbox.Outbox
	r     *relay.Relay
	mu    sync.Mutex // guards calls
	calls map[string][]string
}

// of are the events of a key that a handler has had.
func (c *comers) of(name, key string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.calls[name]), func(id string) bool { return !strings.HasPrefix(id, key) })
}

func (c *comers) note(name, id string) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = make(map[string][]string)
	}
	c.calls[name] = append(c.calls[name], id)
	return len(c.calls[name]) == 1
}

// drain writes events, whose keys are the beginnings of their ids, and has a relay on another outbox publish them. during is
// called in each call of the old handler.
func (c *comers) drain(t *testing.T, on *outbox.Outbox, opts relay.Options, during func(m relay.Message), ids ...string) {
	t.Helper()
	exec := func(statement string) {
		t.Helper()
		if _, err := c.o.DB().Exec(statement); err != nil {
			t.Error(err)
		}
	}
	h := handlersOf(t, on, nil,
		relay.Handler{Name: "old", Topics: []string{"*"}, From: relay.FromOldest, NoTx: func(_ context.Context, m relay.Message) error {
			if c.note("old", m.ID) {
				exec(come)
			}
			during(m)
			return nil
		}},
		relay.Handler{Name: "new", Topics: []string{"*"}, From: relay.FromOldest, NoTx: func(_ context.Context, m relay.Message) error {
			c.note("new", m.ID)
			return nil
		}})
	c.r = relayOf(t, on, h, &opts)
	if err := h.Announce(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec("DELETE FROM outbox_handlers WHERE name = 'new'") // it has not come yet
	for _, id := range ids {
		write(t, c.o, outbox.Event{ID: id, Topic: "t", Key: id[:1]})
	}
	if _, err := c.r.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}
