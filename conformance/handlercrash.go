package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlerCrashRules() []rule {
	var rules []rule
	for _, both := range [][]rule{
		inEach("a handler has its own attempts, however many the event has used up", handlerOwnAttempts),
		inEach("a handler that ends its process is dead after exactly its attempts, by name, and it alone is charged", handlerCrashes),
	} {
		rules = append(rules, both...)
	}
	return rules
}

// One comes when its event has one attempt left.
func handlerOwnAttempts(t *env, order relay.Order) {
	for limit := 2; limit <= 3; limit++ {
		c := t.crew()
		opts := quick(order)
		opts.MaxAttempts = limit
		t.write(events("e", 1)...)
		old := c.one("old", failUntil(limit))
		first := c.with(t.o, opts, nil, old)
		for range limit - 1 {
			t.once(first)
			t.makeDue()
		}
		c.wantCalls("before", map[string]int{"old": limit - 1})
		t.runUntilSettled(c.with(t.outboxOn(t.another(), nil), opts, nil, c.one("new", failUntil(limit)), old), 0)
		c.wantCalls("in the end", map[string]int{"old": limit, "new": limit})
		c.wantEffects("in the end", map[string]int{"old": 1, "new": 1})
		t.exec(`DELETE FROM {handlers}`)
		t.empty(t)
	}
}

func handlerCrashes(t *env, order relay.Order) {
	for _, limit := range []int{1, 3} {
		c := t.crew()
		t.write(events("e", 3)...)
		var down atomic.Bool
		list := []relay.Handler{c.one("good", nil), c.one("bad", func(_ context.Context, _ *sql.Tx, m relay.Message) error {
			if m.ID == "e-1" {
				down.Store(true) // the process has ended: nothing of it is heard of again
			}
			return nil
		}), c.one("behind", nil)}
		list[1].MaxAttempts = limit
		for range 12 {
			down.Store(false)
			c.dyingRun(order, &down, list...)
			if t.number(`SELECT COUNT(*) FROM {events} WHERE state NOT IN (1, 2)`) == 0 {
				break
			}
			t.fell(order)
		}
		t.settled(1)
		calls := 0
		for _, id := range c.of("bad") {
			if id == "e-1" {
				calls++
			}
		}
		if calls != limit {
			t.Errorf("limit %d: the one that ends its process was called %d times", limit, calls)
		}
		c.wantEffects(fmt.Sprint("limit ", limit), map[string]int{"good": 3, "bad": 2})
		if text := t.record("e-1").lastError; !strings.Contains(text, `"bad"`) || !strings.Contains(text, "process ended") {
			t.Errorf("limit %d: last_error %q does not name the handler", limit, text)
		}
		all, err := t.o.HandlerStats(t.ctx())
		for _, s := range all {
			if want := int64(strings.Count(s.Name, "bad")); s.Dead != want || s.Failing != 0 {
				t.Errorf("limit %d: %+v, want %d dead", limit, s, want)
			}
		}
		if err != nil || len(all) != 3 {
			t.Errorf("%d handlers, %v", len(all), err)
		}
		t.exec(`DELETE FROM {relays}`)
		t.empty(t)
	}
}

// dyingRun is a process that works until all is settled, or until it is down.
func (c *crew) dyingRun(order relay.Order, down *atomic.Bool, list ...relay.Handler) {
	t := c.t
	db := t.hooked(hookdb.Hooks{Before: func(string) error {
		if down.Load() {
			return hookdb.ErrCut
		}
		return nil
	}})
	opts := quick(order)
	opts.Lease, opts.ShutdownTimeout = racing.Slow*500*time.Millisecond, 10*time.Millisecond
	stop := t.start(c.with(t.outboxOn(db, nil), opts, nil, list...))
	t.eventually("it is down, or all is settled", func() bool {
		return down.Load() || t.number(`SELECT COUNT(*) FROM {events} WHERE state NOT IN (1, 2)`) == 0
	})
	_ = stop()
}
