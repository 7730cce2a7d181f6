package conformance

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlerClaimRules() []rule {
	return []rule{
		{"of several processes that have a handler one runs what was left for it", claimedOnce},
		{"what comes of a call after its claim was taken changes nothing", claimedTooLate},
	}
}

// A call stays inside until the others have looked some times.
func claimedOnce(t *env) {
	const n = 6
	c := t.crew()
	var looks atomic.Int64
	one := c.slow("a", func(ctx context.Context, _ relay.Message) error {
		enough := looks.Load() + 20
		holdsWithin(t.h.Patience, func() bool { return looks.Load() >= enough || ctx.Err() != nil })
		return nil
	})
	t.once(c.release(relay.OrderPerKey, one))
	t.write(ofKeys("e", n)...)
	stops := []func() error{c.leave(relay.OrderPerKey, n)}
	for range 3 {
		db := t.hooked(hookdb.Hooks{After: func(query string) error {
			if strings.HasPrefix(query, "SELECT h.name, h.topics, ") && !strings.Contains(query, "former_name") {
				looks.Add(1)
			}
			return nil
		}})
		stops = append(stops, t.start(c.with(t.outboxOn(db, nil), quick(relay.OrderPerKey), nil, one)))
	}
	t.settled(0)
	for _, stop := range stops {
		t.mustStop(stop)
	}
	c.wantCalls("three processes", map[string]int{"a": n})
}

func claimedTooLate(t *env) {
	for what, answer := range map[string]error{"it fails": errNo, "it is unavailable": relay.Unavailable(errNo)} {
		c := t.crew()
		inside, open := make(chan struct{}), make(chan struct{})
		one := c.slow("a", func(context.Context, relay.Message) error {
			close(inside)
			<-open
			return answer
		})
		t.once(c.release(relay.OrderPerKey, one))
		t.write(outbox.Event{ID: "e", Topic: "conformance"})
		t.mustStop(c.leave(relay.OrderPerKey, 1))
		t.exec(`UPDATE {events} SET due_ms = due_ms + 3600000`) // so that it is served or waits
		stop := t.start(c.release(relay.OrderPerKey, one))
		await(t, "the call", inside)
		t.exec(`UPDATE {deliveries} SET settled_ms = 12345, attempts = 2, due_ms = {clock} + 3600000 WHERE handler = 'a'`)
		close(open)
		t.mustStop(stop)
		const others = `SELECT COUNT(*) FROM {deliveries} WHERE handler = 'a' AND state = 0 AND settled_ms = 12345 AND attempts = 2 AND due_ms > {clock} + 1800000`
		if t.number(others) != 1 {
			t.Errorf("%s: the claim of another was changed: %+v", what, t.deliveries())
		}
		c.wantCalls(what, map[string]int{"a": 1})
		t.empty(t)
	}
}
