package conformance

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlersOfSmallPool(t *env, order relay.Order) {
	c := t.crew()
	db := t.another()
	db.SetMaxOpenConns(2)
	query := func(ctx context.Context, _ *sql.Tx, _ relay.Message) error {
		var n int64
		return db.QueryRowContext(ctx, t.sql.SQL(`SELECT COUNT(*) FROM {handlers}`)).Scan(&n)
	}
	t.write(events("e", 40)...)
	t.runUntilSettled(c.with(t.outboxOn(db, nil), quick(order), nil, c.one("a", query), c.one("b", query)), 0)
	c.wantEffects("two connections", map[string]int{"a": 40, "b": 40})
	t.exec(`DELETE FROM conformance_host`)

	db.SetMaxOpenConns(1)
	t.write(events("f", 20)...)
	inTx := func(ctx context.Context, tx *sql.Tx, _ relay.Message) error {
		var n int64
		return tx.QueryRowContext(ctx, t.sql.SQL(`SELECT COUNT(*) FROM {handlers}`)).Scan(&n)
	}
	t.runUntilSettled(c.with(t.outboxOn(db, nil), quick(order), nil, c.one("a", inTx), c.one("b", inTx)), 0)
	c.wantEffects("one connection", map[string]int{"a": 20, "b": 20})
}

// Calls stay inside until there are two, and as many hand-overs as the relay makes at once have come to the door.
func handlerConcurrency(t *env, order relay.Order) {
	opts := quick(order)
	atOnce, want := int64(1), int64(1)
	if order != relay.OrderTotal {
		atOnce, want = 6, 2
		opts.Concurrency = int(atOnce)
	}
	var came, inside, most atomic.Int64
	open := make(chan struct{})
	openOnce := sync.OnceFunc(func() { close(open) })
	look := func() {
		if came.Load() >= atOnce && most.Load() >= want {
			openOnce()
		}
	}
	list := []relay.Handler{
		{Name: "a door", Topics: []string{"*"}, From: relay.FromOldest, NoTx: func(context.Context, relay.Message) error {
			came.Add(1)
			look()
			return nil
		}},
		{Name: "room for two", Topics: []string{"*"}, From: relay.FromOldest, Concurrency: 2, NoTx: func(ctx context.Context, _ relay.Message) error {
			n := inside.Add(1)
			defer inside.Add(-1)
			for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
			}
			look()
			select {
			case <-open:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}},
	}
	events := events("e", 20)
	for i := range events {
		events[i].Key = events[i].ID
	}
	t.write(events...)
	t.runUntilSettled(t.crew().with(t.o, opts, nil, list...), 0)
	if most.Load() != want {
		t.Errorf("%d calls at once, want %d of the %d that the relay makes", most.Load(), want, atOnce)
	}
}

func handlerNoTime(t *env) {
	c := t.crew()
	opts := quick(relay.OrderPerKey)
	opts.MaxAttempts, opts.PublishTimeout = 1, 3*time.Second // as long again is what it may take to return
	slow := relay.Handler{Name: "slow", Topics: []string{"*"}, From: relay.FromOldest, NoTx: func(ctx context.Context, _ relay.Message) error {
		<-ctx.Done()
		return nil // done all the same
	}}
	t.write(events("e", 1)...)
	t.runUntilSettled(c.with(t.o, opts, nil, slow, c.one("a", nil)), 0)
	c.wantCalls("no time was left", map[string]int{"a": 1})
}

func handlerOutside(t *env) {
	var calls atomic.Int64
	var cut atomic.Bool
	db := t.hooked(hookdb.Hooks{Before: func(query string) error {
		if calls.Load() == 1 && strings.Contains(query, "outbox_deliveries") && strings.HasPrefix(query, "UPDATE") && cut.CompareAndSwap(false, true) {
			return hookdb.ErrCut
		}
		return nil
	}})
	opts := quick(relay.OrderPerKey)
	opts.MaxAttempts = 1
	t.write(events("e", 1)...)
	one := relay.Handler{Name: "a", Topics: []string{"*"}, From: relay.FromOldest, NoTx: func(context.Context, relay.Message) error {
		calls.Add(1)
		return nil
	}}
	t.runUntilSettled(t.crew().with(t.outboxOn(db, nil), opts, nil, one), 0)
	if calls.Load() != 2 {
		t.Errorf("%d calls, want one and one more since the first was not recorded", calls.Load())
	}
}

// Settling, discarding and purging touch the records beside those of a handler that runs, and not these.
func handlerRunsAlone(t *env) {
	if t.oneWriter() {
		t.Skip("one writer: all wait for the handler that writes")
	}
	for _, order := range []relay.Order{relay.OrderPerKey, relay.OrderNone} {
		c := t.crew()
		open, inside := make(chan struct{}), make(chan struct{}, 1)
		slow := c.one("a", func(_ context.Context, _ *sql.Tx, m relay.Message) error {
			switch m.ID {
			case "slow-0":
				inside <- struct{}{}
				<-open
			case "dead-0", "dead-1":
				return relay.Permanent(errNo)
			}
			return nil
		})
		var list []outbox.Event
		for _, id := range []string{"e-0", "dead-0", "e-1", "dead-1", "slow-0", "e-2", "e-3"} {
			list = append(list, outbox.Event{ID: id, Topic: "conformance", Key: id})
		}
		t.write(list...)
		stop := t.start(c.with(t.outboxOn(t.wide(), nil), quick(order), nil, c.one("b", nil), slow))
		await(t, "the slow handler", inside)
		t.eventually("the others are settled", func() bool {
			return t.number(`SELECT COUNT(*) FROM {events} WHERE state <> 2`) == 1 && t.number(`SELECT COUNT(*) FROM {events}`) == 3
		})
		if n, err := t.o.Discard(t.ctx(), "dead-1"); n != 1 || err != nil {
			t.Errorf("discard: %d, %v", n, err)
		}
		t.exec(`UPDATE {events} SET due_ms = due_ms - 7200000, settled_ms = settled_ms - 7200000 WHERE id = 'dead-0'`)
		if n, err := t.o.Purge(t.ctx(), outbox.PurgeOptions{Dead: time.Hour}); n != 1 || err != nil {
			t.Errorf("purge: %d, %v", n, err)
		}
		close(open)
		t.settled(0)
		t.mustStop(stop)
		c.wantCalls("in the end", map[string]int{"a": 7, "b": 7})
		t.empty(t)
	}
}

// wide is a pool without a limit.
func (t *env) wide() *sql.DB {
	t.Helper()
	db := t.another()
	db.SetMaxOpenConns(0)
	return db
}
