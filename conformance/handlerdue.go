package conformance

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlerDueRules() []rule {
	return append(inEach("each handler of an event waits for its own next try", handlersDue),
		rule{"a handler that is unavailable holds up its own event alone, per key", func(t *env) { handlerUnavailable(t, relay.OrderPerKey) }},
		rule{"a handler that is unavailable holds up its own event alone, none", func(t *env) { handlerUnavailable(t, relay.OrderNone) }})
}

// One asks for its time, and others don't, before and behind it.
func handlersDue(t *env, order relay.Order) {
	c := t.crew()
	fails := func(first error) relay.HandlerFunc {
		return func(_ context.Context, _ *sql.Tx, m relay.Message) error {
			if m.Attempt == 1 {
				return first
			}
			return nil
		}
	}
	t.write(events("e", 1)...)
	stop := t.start(c.with(t.o, quick(order), nil,
		c.one("before", fails(errNo)), c.one("asks", fails(relay.RetryAfter(time.Hour, errNo))), c.one("behind", fails(errNo))))
	t.eventually("those that did not ask are called again", func() bool { return len(c.of("before")) == 2 && len(c.of("behind")) == 2 })
	passes(t, 100*time.Millisecond)
	c.wantCalls("before its time", map[string]int{"before": 2, "asks": 1, "behind": 2})
	t.eventually("all events are settled", func() bool {
		t.makeDue()
		return t.number(`SELECT COUNT(*) FROM {events}`) == 0
	})
	t.mustStop(stop)
	c.wantCalls("in the end", map[string]int{"before": 2, "asks": 2, "behind": 2})
}

func handlerUnavailable(t *env, order relay.Order) {
	c := t.crew()
	opts := quick(order)
	opts.MaxAttempts, opts.Backoff, opts.BackoffMax = 2, time.Hour, time.Hour // what a destination that is away would cost all
	var back atomic.Bool
	one := c.one("a", func(_ context.Context, _ *sql.Tx, m relay.Message) error {
		if m.ID != "away" || back.Load() {
			return nil
		}
		return relay.Unavailable(errNo)
	})
	t.write(outbox.Event{ID: "away", Topic: "conformance", Key: "k"}, outbox.Event{ID: "behind", Topic: "conformance", Key: "k"})
	t.write(events("e", 20)...)
	stop := t.start(c.with(t.o, opts, nil, one))
	want := int64(2)
	if order == relay.OrderNone {
		want = 1
	}
	t.eventually("the others are handled", func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) == want })
	t.eventually("it is called again", func() bool { return len(c.of("a")) > 25 })
	back.Store(true)
	t.settled(0)
	t.mustStop(stop)
	c.wantEffects("in the end", map[string]int{"a": 22})
}
