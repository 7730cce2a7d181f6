package conformance

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlerFaultRules() []rule {
	var rules []rule
	for _, both := range [][]rule{
		inEach("a handler that panics, ends its goroutine or its transaction fails, and nothing of it stays but what it committed itself", handlerEnds),
		inEach("a transaction that is kept after its handler has returned is over", handlerKeepsTx),
		inEach("a handler that ignores its context is rolled back", handlerIgnoresContext),
		inEach("a handler's commit that was not heard of counts, and one that did not happen does not", handlerUnknownCommit),
		inEach("a relay that comes too late to a handler has no effect", handlerLate),
		inEach("a crash after a handler's commit does not run it again", handlerCrash),
		inEach("handlers that query share a pool of two connections", handlersOfSmallPool),
		inEach("a handler has no more calls at once than its Concurrency", handlerConcurrency),
	} {
		rules = append(rules, both...)
	}
	return append(rules,
		rule{"nobody waits for a handler that runs, but on an engine with one writer", handlerRunsAlone},
		rule{"a late owner has no effect, though the records of the event are gone", handlerLateAndGone},
		rule{"what the handlers before left no time for is not charged", handlerNoTime},
		rule{"a handler that talks to the outside runs again if that was not recorded", handlerOutside})
}

func handlerEnds(t *env, order relay.Order) {
	type fault struct {
		fn    relay.HandlerFunc
		dead  int64 // at once
		stays int   // of the first call
		text  string
	}
	for name, f := range map[string]fault{
		"panics":                         {fn: func(context.Context, *sql.Tx, relay.Message) error { panic("boom") }, text: "boom"},
		"panics with nil":                {fn: func(context.Context, *sql.Tx, relay.Message) error { panic(nil) }, text: "nil"}, //nolint:govet // what a host may do
		"calls Goexit":                   {fn: func(context.Context, *sql.Tx, relay.Message) error { runtime.Goexit(); return nil }, text: "Goexit"},
		"answers with a nil in an error": {fn: func(context.Context, *sql.Tx, relay.Message) error { return (*badError)(nil) }, text: "badError"},
		"calls Rollback":                 {fn: func(_ context.Context, tx *sql.Tx, _ relay.Message) error { return tx.Rollback() }, text: "Rollback"},
		"calls Commit":                   {fn: func(_ context.Context, tx *sql.Tx, _ relay.Message) error { return tx.Commit() }, dead: 1, stays: 1, text: "Commit"},
		"breaks its transaction": {fn: func(ctx context.Context, tx *sql.Tx, _ relay.Message) error {
			_, _ = tx.ExecContext(ctx, "ROLLBACK") // as a deadlock does, swallowed
			return nil
		}},
	} {
		c, first := t.crew(), true
		list := []relay.Handler{c.one("good", nil), c.one(name, func(ctx context.Context, tx *sql.Tx, m relay.Message) error {
			if first {
				first = false
				return f.fn(ctx, tx, m)
			}
			return nil
		})}
		var texts []string
		watch := &failureWatch{texts: &texts}
		opts := quick(order)
		opts.Observers = []relay.Observer{watch}
		id := t.write(events("e", 1)...)[0]
		stop := t.start(c.with(t.o, opts, nil, list...))
		t.settled(f.dead)
		good := t.write(events("good", 1)...)
		t.settled(f.dead)
		t.mustStop(stop)
		calls := 3 - int(f.dead)
		c.wantCalls(name, map[string]int{name: calls, "good": 2})
		c.wantEffects(name, map[string]int{name: 2, "good": 2})
		if got := c.of(name); len(got) != calls || got[len(got)-1] != good[0] {
			t.Errorf("%s: called with %q; the relay did not live on", name, got)
		}
		if len(texts) != 1 || !strings.Contains(texts[0], f.text) {
			t.Errorf("%s: told %q, want one failure with %q", name, texts, f.text)
		}
		if f.dead == 1 && !strings.Contains(t.record(id).lastError, relay.ErrHandlerEndedTx.Error()) {
			t.Errorf("%s: last_error %q", name, t.record(id).lastError)
		}
		if f.dead == 1 {
			if _, err := t.o.Discard(t.ctx(), id); err != nil {
				t.Error(err)
			}
		}
		t.empty(t)
	}
}

type badError struct{ err error }

func (e *badError) Error() string { return e.err.Error() }

func (e *badError) Unwrap() error { return e.err }

// failureWatch keeps the texts of handlers' failures.
type failureWatch struct{ texts *[]string }

func (w *failureWatch) HandlerFailed(_ string, _ relay.Message, err error, _ time.Duration) {
	*w.texts = append(*w.texts, err.Error())
}

func (w *failureWatch) HandlerDead(_ string, _ relay.Message, err error, _ time.Duration) {
	*w.texts = append(*w.texts, err.Error())
}

func handlerKeepsTx(t *env, order relay.Order) {
	c := t.crew()
	var kept *sql.Tx
	t.write(events("e", 1)...)
	t.runUntilSettled(c.with(t.o, quick(order), nil, c.one("keeps", func(_ context.Context, tx *sql.Tx, _ relay.Message) error {
		kept = tx
		return nil
	})), 0)
	if _, err := kept.ExecContext(t.ctx(), `INSERT INTO conformance_host (id, n) VALUES (1, 1)`); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("a transaction was of use after its handler had returned: %v", err)
	}
	c.wantEffects("kept", map[string]int{"keeps": 1})
}

func handlerIgnoresContext(t *env, order relay.Order) {
	c := t.crew()
	open := make(chan struct{})
	var ignored atomic.Int64
	one := c.one("ignores", func(context.Context, *sql.Tx, relay.Message) error {
		if ignored.Add(1) == 1 {
			<-open // whatever the context says
		}
		return nil
	})
	opts := quick(order)
	opts.PublishTimeout, opts.Lease = racing.Slow*500*time.Millisecond, racing.Slow*4*time.Second // time enough for the call that returns
	t.write(events("e", 1)...)
	stop := t.start(c.with(t.outboxOn(t.another(), nil), opts, nil, one))
	t.eventually("it is called", func() bool { return ignored.Load() == 1 })
	passes(t, racing.Slow*700*time.Millisecond)
	c.wantEffects("while it does not return", map[string]int{"ignores": 0})
	close(open)
	t.eventually("it is called again", func() bool {
		t.exec(`UPDATE {events} SET due_ms = 1 WHERE state IN (0, 5) AND claimed_by = ''`)
		return t.number(`SELECT COUNT(*) FROM {events}`) == 0
	})
	t.mustStop(stop)
	c.wantCalls("in the end", map[string]int{"ignores": 2})
	c.wantEffects("in the end", map[string]int{"ignores": 1})
}

func handlerUnknownCommit(t *env, order relay.Order) {
	for what, want := range map[string]int{"after": 1, "before": 2} {
		c := t.crew()
		var inside, cut atomic.Bool
		strike := func(query string) error {
			if query == hookdb.Commit && inside.Load() && cut.CompareAndSwap(false, true) {
				return hookdb.ErrCut
			}
			return nil
		}
		hooks := hookdb.Hooks{After: strike}
		if what == "before" {
			hooks = hookdb.Hooks{Before: strike}
		}
		db := t.hooked(hooks)
		opts := quick(order)
		opts.MaxAttempts = want
		r := c.with(t.o, opts, &relay.HandlersOptions{DB: db}, c.one("a", func(context.Context, *sql.Tx, relay.Message) error {
			inside.Store(true)
			return nil
		}))
		t.write(events("e", 1)...)
		t.runUntilSettled(r, 0)
		if !cut.Load() {
			t.Errorf("cut %s: nothing was cut", what)
		}
		c.wantCalls("cut "+what, map[string]int{"a": want})
		c.wantEffects("cut "+what, map[string]int{"a": 1})
		t.empty(t)
	}
}

// Two relays have one event in hand: the second waits for the record of the first, and finds it, or the first has learnt
// that it is late and was rolled back.
func handlerLate(t *env, order relay.Order) {
	if t.oneWriter() {
		return // the second can't even begin; see handlerLateAndGone
	}
	c := t.crew()
	inside, open := make(chan struct{}), make(chan struct{})
	slow := c.one("a", func(context.Context, *sql.Tx, relay.Message) error {
		close(inside)
		<-open
		return nil
	})
	t.write(events("e", 1)...)
	first := t.start(c.with(t.outboxOn(t.another(), nil), quick(order), nil, slow))
	await(t, "the first relay's handler", inside)
	t.fell(order)
	second := make(chan struct{})
	comes := sync.OnceFunc(func() { close(second) })
	db := t.hooked(hookdb.Hooks{Before: func(query string) error {
		if isRecord(query) {
			comes()
		}
		return nil
	}})
	stop := t.start(c.with(t.outboxOn(db, nil), quick(order), nil, c.one("a", nil)))
	await(t, "the second relay comes to the record", second)
	close(open)
	t.settled(0)
	t.mustStop(stop)
	_ = first()
	c.wantEffects("two relays", map[string]int{"a": 1})
}

// isRecord: it makes the record of an event in a handler.
func isRecord(query string) bool { return strings.HasPrefix(query, "INSERT INTO outbox_deliveries") }

// The first relay is late between two handlers. By then the second one has settled the event, and its records are gone.
func handlerLateAndGone(t *env) {
	c := t.crew()
	inside, open := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	slow := relay.Handler{Name: "outside", Topics: []string{"*"}, From: relay.FromOldest, NoTx: func(context.Context, relay.Message) error {
		if calls.Add(1) == 1 {
			close(inside)
			<-open
		}
		return nil
	}}
	t.write(events("e", 1)...)
	first := t.start(c.with(t.outboxOn(t.another(), nil), quick(relay.OrderPerKey), nil, slow, c.one("a", nil)))
	await(t, "the first relay's handler", inside)
	t.fell(relay.OrderPerKey)
	t.runUntilSettled(c.with(t.outboxOn(t.another(), nil), quick(relay.OrderPerKey), nil, slow, c.one("a", nil)), 0)
	close(open)
	_ = first()
	c.wantCalls("two relays", map[string]int{"a": 1})
	c.wantEffects("two relays", map[string]int{"a": 1})
}

// The relay's pool is cut off for good just after a handler's commit, as a kill does.
func handlerCrash(t *env, order relay.Order) {
	c := t.crew()
	var down atomic.Bool
	db := t.hooked(hookdb.Hooks{Before: func(string) error {
		if down.Load() {
			return hookdb.ErrCut
		}
		return nil
	}})
	opts := quick(order)
	opts.Lease, opts.ShutdownTimeout, opts.DB = racing.Slow*500*time.Millisecond, 10*time.Millisecond, db
	o := t.outboxOn(t.another(), nil)
	first := c.one("a", func(context.Context, *sql.Tx, relay.Message) error {
		down.Store(true)
		return nil
	})
	t.write(events("e", 1)...)
	stop := t.start(c.with(o, opts, &relay.HandlersOptions{DB: o.DB()}, first))
	t.eventually("its effect is committed", func() bool { return t.number(`SELECT COUNT(*) FROM conformance_host`) == 1 })
	_ = stop()
	opts = quick(order)
	opts.Lease = racing.Slow * 500 * time.Millisecond
	t.fell(order)
	t.runUntilSettled(c.with(t.o, opts, nil, c.one("a", nil)), 0)
	c.wantCalls("after a crash", map[string]int{"a": 1})
	c.wantEffects("after a crash", map[string]int{"a": 1})
}
