package conformance

import (
	"context"
	"database/sql"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

func handlerRules() []rule {
	var rules []rule
	for _, both := range [][]rule{
		inEach("handlers are independent: one that is done is not run again because another failed", handlersIndependent),
		inEach("a requeue runs the handlers that are not done, or those that are named", handlersRequeue),
		inEach("a handler has exactly its own number of attempts", handlersAttempts),
		inEach("an unavailable handler charges nobody, and RetryAfter waits", handlersWait),
		inEach("an event without a handler is published, or waits where a handler is required", handlersRequired),
		inEach("an event of this module's own waits for no handler, and has one that names it", handlersOwnEvents),
		inEach("an event that causes events does so in its handler's transaction, and no more than MaxHops in a row", handlersChain),
		inEach("a payload that does not decode is dead at once", handlersJSON),
		inEach("a handler begins with what is written after it was announced, or with the oldest event that is kept", handlersFrom),
		handlerFaultRules(),
		handlerOwnEndRules(),
		handlerReleaseRules(),
		handlerServedRules(),
		handlerClaimRules(),
		handlerRetiredRules(),
		handlerNameRules(),
		handlerCrashRules(),
		handlerTimeRules(),
		handlerDueRules(),
		handlerIsolationRules(),
	} {
		rules = append(rules, both...)
	}
	return append(rules,
		rule{"records go with their event: settled, discarded and purged", handlersForget},
		rule{"each handler's numbers are known", handlersStats},
		rule{"observers are told what came of each handler", handlersObserved})
}

func handlersIndependent(t *env, order relay.Order) {
	c := t.crew()
	opts := quick(order)
	opts.Retention = time.Hour
	r := c.with(t.o, opts, nil, c.one("fails twice", failUntil(3)), c.one("rejects", reject), c.one("is done", nil))
	t.write(events("e", 1)...)
	t.runUntilSettled(r, 0)
	c.wantCalls("one failed", map[string]int{"fails twice": 3, "rejects": 1, "is done": 1})
	c.wantEffects("one failed", map[string]int{"fails twice": 1, "rejects": 0, "is done": 1})
	all := t.deliveries()
	if d := all["fails twice"]; d.state != 1 || d.attempts != 3 || d.lastError != "" {
		t.Errorf("record of the one that failed twice: %+v", d)
	}
	if d := all["rejects"]; d.state != 2 || d.attempts != 1 || !strings.Contains(d.lastError, errNo.Error()) {
		t.Errorf("record of the one that rejected: %+v", d)
	}
	if d := all["is done"]; d.state != 1 || d.attempts != 1 {
		t.Errorf("record of the one that is done: %+v", d)
	}
}

func handlersRequeue(t *env, order relay.Order) {
	c := t.crew()
	bad := true
	opts := quick(order)
	opts.MaxAttempts = 2
	r := c.with(t.o, opts, nil, c.one("rejects", reject), c.one("is done", nil), c.one("is dead", func(context.Context, *sql.Tx, relay.Message) error {
		if bad {
			return errNo
		}
		return nil
	}))
	id := t.write(events("e", 1)...)[0]
	t.runUntilSettled(r, 1)
	c.wantCalls("one is dead", map[string]int{"is dead": 2, "rejects": 1, "is done": 1})
	if text := t.record(id).lastError; !strings.Contains(text, `"is dead"`) || !strings.Contains(text, errNo.Error()) {
		t.Errorf("last_error %q does not say which handler failed, and why", text)
	}
	requeue := func(what string, call func() (int, error)) {
		t.Helper()
		if n, err := call(); n != 1 || err != nil {
			t.Fatalf("%s: %d, %v", what, n, err)
		}
	}
	requeue("requeue", func() (int, error) { return t.o.Requeue(t.ctx(), id) })
	t.runUntilSettled(r, 1)
	c.wantCalls("requeued", map[string]int{"is dead": 4, "rejects": 1, "is done": 1})
	bad = false
	t.exec(`DELETE FROM conformance_host`) // that handlers which are named may have their effect again
	requeue("requeue handlers", func() (int, error) { return t.o.RequeueHandlers(t.ctx(), []string{"is done"}, id) })
	t.runUntilSettled(r, 0)
	c.wantCalls("requeued by name", map[string]int{"is dead": 5, "rejects": 1, "is done": 2})
}

func handlersAttempts(t *env, order relay.Order) {
	for name, own := range map[string]int{"the relay's": 0, "fewer": 2, "more": 5} {
		c := t.crew()
		opts := quick(order)
		opts.MaxAttempts = 3
		one := c.one(name, refuse)
		one.MaxAttempts = own
		r := c.with(t.o, opts, nil, one, c.one("is done", nil))
		t.write(events(name, 1)...)
		t.runUntilSettled(r, 1)
		want := own
		if own == 0 {
			want = 3
		}
		c.wantCalls(name, map[string]int{name: want, "is done": 1})
		if d := t.deliveries()[name]; d.state != 4 || d.attempts != int64(want) {
			t.Errorf("%s: record %+v", name, d)
		}
		t.empty(t)
	}
}

func handlersWait(t *env, order relay.Order) {
	c := t.crew()
	opts := quick(order)
	opts.MaxAttempts = 2
	away, times := 3, make([]time.Time, 0, 2)
	r := c.with(t.o, opts, nil,
		c.one("away", func(_ context.Context, _ *sql.Tx, m relay.Message) error {
			if m.Attempt != 1 {
				t.Errorf("an unavailable handler was charged: attempt %d", m.Attempt)
			}
			if away--; away >= 0 {
				return relay.Unavailable(errNo)
			}
			return nil
		}), c.one("is done", nil))
	t.write(events("e", 1)...)
	t.runUntilSettled(r, 0)
	c.wantCalls("one is unavailable", map[string]int{"away": 4, "is done": 1})
	c.wantEffects("one is unavailable", map[string]int{"away": 1, "is done": 1})

	t.empty(t)
	c = t.crew()
	r = c.with(t.o, opts, nil, c.one("later", func(_ context.Context, _ *sql.Tx, m relay.Message) error {
		if times = append(times, time.Now()); m.Attempt == 1 {
			return relay.RetryAfter(250*time.Millisecond, errNo)
		}
		return nil
	}))
	t.write(events("f", 1)...)
	t.runUntilSettled(r, 0)
	if len(times) != 2 || times[1].Sub(times[0]) < 240*time.Millisecond {
		t.Errorf("RetryAfter 250ms: called at %v", times)
	}
}

func handlersRequired(t *env, order relay.Order) {
	c := t.crew()
	nobodys := outbox.Event{ID: "nobody's", Topic: "other"}
	t.write(nobodys)
	t.runUntilSettled(c.with(t.o, quick(order), nil, c.one("a", nil)), 0)

	t.write(nobodys)
	var looked atomic.Bool
	db := t.hooked(hookdb.Hooks{After: func(query string) error {
		looked.Store(looked.Load() || strings.Contains(query, "LEFT JOIN outbox_deliveries"))
		return nil
	}})
	stop := t.start(c.with(t.outboxOn(db, nil), quick(order), &relay.HandlersOptions{RequireHandler: true}, c.one("a", nil)))
	t.eventually("its handlers are looked for", looked.Load)
	t.mustStop(stop)
	if x := t.record(nobodys.ID); x.attempts != 0 || x.total != 0 || x.state == dead || x.state == published {
		t.Errorf("an event without a handler was touched:%s", describe([]record{x}))
	}
	one := c.one("b", nil)
	one.Topics = []string{"oth.*", "other"}
	t.runUntilSettled(c.with(t.o, quick(order), &relay.HandlersOptions{RequireHandler: true}, one), 0)
	c.wantCalls("its handler has come", map[string]int{"a": 0, "b": 1})
}

// Nobody's events are held up by news that nobody has asked for.
func handlersOwnEvents(t *env, order relay.Order) {
	c := t.crew()
	required := &relay.HandlersOptions{RequireHandler: true}
	disabled := outbox.Event{Topic: webhook.TopicDisabled, Key: "k"}
	behind := outbox.Event{Topic: "conformance", Key: "k"}
	t.write(disabled, behind)
	t.runUntilSettled(c.with(t.o, quick(order), required, c.one("a", nil)), 0)
	c.wantCalls("nobody wants it", map[string]int{"a": 1})
	one := c.one("b", nil)
	one.Topics = []string{webhook.TopicDisabled}
	t.write(disabled, behind)
	t.runUntilSettled(c.with(t.o, quick(order), required, c.one("a", nil), one), 0)
	c.wantCalls("one wants it", map[string]int{"a": 2, "b": 1})
}

func handlersFrom(t *env, order relay.Order) {
	c := t.crew()
	opts := quick(order)
	opts.Retention = time.Hour
	const old = 250 // more than one step of putting back
	t.write(events("old", old)...)
	t.drain(t.relay(&receiver{}, opts))
	t.write(events("pending", 2)...)

	now := c.one("now", nil)
	now.From = relay.FromNow
	list := []relay.Handler{now, c.one("oldest", nil)}
	// A restart in the middle of putting back what is kept.
	ctx, cancel := context.WithCancel(t.ctx())
	defer cancel()
	putBack := commitOf(func(query string) bool { return strings.Contains(query, "SET replayed_to") })
	db := t.hooked(hookdb.Hooks{After: func(query string) error {
		if putBack(query) {
			cancel()
		}
		return nil
	}})
	_, _ = c.with(t.outboxOn(db, nil), opts, nil, list...).RunOnce(ctx)
	if n := t.number(`SELECT COUNT(*) FROM {events} WHERE state = 1`); n == 0 || n == old {
		t.Errorf("%d of %d are still to be put back: it was not in the middle", n, old)
	}
	r := c.with(t.o, opts, nil, list...)
	stop := t.start(r)
	t.eventually("the new handler is announced", func() bool {
		return t.number(`SELECT COUNT(*) FROM {handlers} WHERE from_seq >= 0 AND replayed_to > 0 AND name = 'oldest'`) == 1
	})
	t.eventually("the new handler has begun", func() bool {
		return t.number(`SELECT COUNT(*) FROM {handlers} WHERE from_seq > 0 AND name = 'now'`) == 1
	})
	t.write(events("new", 2)...)
	t.settled(0)
	t.mustStop(stop)
	c.wantCalls("all", map[string]int{"now": 2, "oldest": old + 4})
	c.wantEffects("all", map[string]int{"now": 2, "oldest": old + 4})
}
