package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlerServedRules() []rule {
	return []rule{
		{"one that ends its process in what was left is dead after exactly its attempts, and it alone is charged", servedCrashes},
		{"what was left runs once at a time, also where its process gets the event itself", servedOnce},
		{"one that does not return from what was left is not called again meanwhile, and has exactly its attempts", servedStuck},
		{"what was left of a paused topic waits until it is resumed", servedPaused},
		{"what was left of a dead letter waits for a requeue, and a key's goes in order", servedInOrder},
		{"what a killed process ran of what was left goes on after its lease, however long a call may take", servedTakenOver},
	}
}

// slow is a handler of all of conformance's events that talks to the outside.
func (c *crew) slow(name string, fn func(ctx context.Context, m relay.Message) error) relay.Handler {
	return relay.Handler{Name: name, Topics: []string{"conformance"}, From: relay.FromOldest, NoTx: func(ctx context.Context, m relay.Message) error {
		c.called(name, m)
		return fn(ctx, m)
	}}
}

// leave has another release, whose handler is "other", leave n deliveries to those that are known already.
func (c *crew) leave(order relay.Order, n int64) (stop func() error) {
	t := c.t
	stop = t.start(c.release(order, c.one("other", nil)))
	t.eventually("it is left for the other release", func() bool { return t.number(`SELECT COUNT(*) FROM {deliveries} WHERE state = 0`) == n })
	return stop
}

// atOnce tells the most calls that were made at once.
type atOnce struct {
	mu        sync.Mutex // guards the rest
	now, most int
}

func (a *atOnce) begin() (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now++
	a.most = max(a.most, a.now)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.now--
	}
}

func (a *atOnce) want(t *env, most int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.most > most {
		t.Errorf("%d calls at once, want at most %d", a.most, most)
	}
}

func servedCrashes(t *env) {
	for _, limit := range []int{1, 3} {
		c := t.crew()
		inside, all := make(chan struct{}, 100), make(chan struct{})
		var company sync.Once
		var down func() // the process has ended: nothing of it is heard of again
		bad := c.slow("bad", func(ctx context.Context, m relay.Message) error {
			if inside <- struct{}{}; len(inside) >= 4 {
				company.Do(func() { close(all) })
			}
			if m.ID != "e-1" {
				select { // it shares the hand of the one that ends the process
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
				return nil
			}
			if limit > 1 && m.Attempt == 1 {
				select {
				case <-all:
				case <-ctx.Done():
				}
			}
			down()
			return nil
		})
		bad.MaxAttempts = limit
		t.once(c.release(relay.OrderPerKey, bad))
		t.write(ofKeys("e", 4)...)
		stopOther := c.leave(relay.OrderPerKey, 4)
		for range 12 {
			c.dyingServer(&down, bad)
			if t.number(`SELECT COUNT(*) FROM {events} WHERE state NOT IN (1, 2)`) == 0 {
				break
			}
		}
		t.settled(1)
		t.mustStop(stopOther)
		calls := 0
		for _, id := range c.of("bad") {
			if id == "e-1" {
				calls++
			}
		}
		if calls != limit {
			t.Errorf("limit %d: the one that ends its process was called %d times", limit, calls)
		}
		if text := t.record("e-1").lastError; !strings.Contains(text, `"bad"`) || !strings.Contains(text, "process ended") {
			t.Errorf("limit %d: last_error %q does not name the handler", limit, text)
		}
		t.exec(`DELETE FROM {handlers}`)
		t.exec(`DELETE FROM {relays}`)
		t.empty(t)
	}
}

// dyingServer is a process that works until all is settled, or until it is down, which *end makes it.
func (c *crew) dyingServer(end *func(), list ...relay.Handler) {
	t := c.t
	var down atomic.Bool
	*end = func() { down.Store(true) }
	db := t.hooked(hookdb.Hooks{Before: func(string) error {
		if down.Load() {
			return hookdb.ErrCut
		}
		return nil
	}})
	opts := quick(relay.OrderPerKey)
	opts.Lease, opts.ShutdownTimeout = racing.Slow*500*time.Millisecond, 10*time.Millisecond
	stop := t.start(c.with(t.outboxOn(db, nil), opts, nil, list...))
	t.eventually("it is down, or all is settled", func() bool {
		return down.Load() || t.number(`SELECT COUNT(*) FROM {events} WHERE state NOT IN (1, 2)`) == 0
	})
	_ = stop()
}

func servedOnce(t *env) {
	c := t.crew()
	var most [20]atOnce
	one := c.slow("a", func(_ context.Context, m relay.Message) error {
		var i int
		if _, err := fmt.Sscanf(m.ID, "e-%d", &i); err != nil {
			t.Error(err)
		}
		end := most[i].begin()
		time.Sleep(150 * time.Millisecond) // its work: a second call would come meanwhile
		end()
		return nil
	})
	t.once(c.release(relay.OrderPerKey, one))
	t.write(events("e", len(most))...)
	t.mustStop(c.leave(relay.OrderPerKey, int64(len(most))))
	t.runUntilSettled(c.release(relay.OrderPerKey, one, c.one("other", nil)), 0)
	c.wantCalls("nothing fails", map[string]int{"a": len(most)})
	for i := range most {
		most[i].want(t, 1)
	}
}

func servedStuck(t *env) {
	c := t.crew()
	var most atOnce
	stuck := c.slow("stuck", func(context.Context, relay.Message) error {
		defer most.begin()()
		time.Sleep(900 * time.Millisecond) // whatever ctx says: another call would come meanwhile
		return errNo
	})
	stuck.MaxAttempts = 3
	t.once(c.release(relay.OrderPerKey, stuck))
	t.write(events("e", 1)...)
	stopOther := c.leave(relay.OrderPerKey, 1)
	opts := quick(relay.OrderPerKey)
	opts.PublishTimeout = 100 * time.Millisecond
	stop := t.start(c.with(t.outboxOn(t.another(), nil), opts, nil, stuck))
	t.settled(1)
	t.mustStop(stop)
	t.mustStop(stopOther)
	c.wantCalls("it does not return", map[string]int{"stuck": 3})
	most.want(t, 1)
}

func servedPaused(t *env) {
	for _, topic := range []string{"conformance", outbox.AllTopics} {
		c := t.crew()
		one := c.one("a", nil)
		t.once(c.release(relay.OrderPerKey, one))
		t.write(events("e", 3)...)
		stopOther := c.leave(relay.OrderPerKey, 3)
		if err := t.o.Pause(t.ctx(), topic); err != nil {
			t.Fatal(err)
		}
		stop := t.start(c.release(relay.OrderPerKey, one))
		passes(t, 300*time.Millisecond)
		c.wantCalls("paused", map[string]int{"a": 0})
		if err := t.o.Resume(t.ctx(), topic); err != nil {
			t.Fatal(err)
		}
		t.settled(0)
		t.mustStop(stop)
		t.mustStop(stopOther)
		c.wantCalls("resumed", map[string]int{"a": 3})
		t.exec(`DELETE FROM {handlers}`)
		t.empty(t)
	}
}

// The other release's handler makes dead letters of them.
func servedInOrder(t *env) {
	const n = 5
	c := t.crew()
	var most atOnce
	one := c.slow("a", func(context.Context, relay.Message) error {
		defer most.begin()()
		time.Sleep(20 * time.Millisecond) // its work: another of the key would come meanwhile
		return nil
	})
	t.once(c.release(relay.OrderPerKey, one))
	list := events("e", n)
	var ids []string
	for i := range list {
		list[i].Key = "one"
		ids = append(ids, list[i].ID)
	}
	t.write(list...)
	stopOther := t.start(c.release(relay.OrderPerKey, c.one("dislikes", func(context.Context, *sql.Tx, relay.Message) error { return relay.Permanent(errNo) })))
	t.settled(n)
	t.mustStop(stopOther)
	stop := t.start(c.release(relay.OrderPerKey, one))
	passes(t, 300*time.Millisecond)
	c.wantCalls("dead letters", map[string]int{"a": 0})
	if text := t.record("e-0").lastError; strings.Count(text, "permanent:") != 1 {
		t.Errorf("last_error %q", text)
	}
	if err := t.o.RetireHandler(t.ctx(), "dislikes"); err != nil {
		t.Fatal(err)
	}
	if n, err := t.o.Requeue(t.ctx(), ids...); n != len(ids) || err != nil {
		t.Fatal(n, err)
	}
	t.settled(0)
	t.mustStop(stop)
	most.want(t, 1)
	if got := c.of("a"); !slices.Equal(got, ids) {
		t.Errorf("handled %v, want %v", got, ids)
	}
}

func servedTakenOver(t *env) {
	c := t.crew()
	var down func()
	one := c.slow("a", func(context.Context, relay.Message) error {
		down()
		return nil
	})
	t.once(c.release(relay.OrderPerKey, one))
	t.write(events("e", 1)...)
	stopOther := c.leave(relay.OrderPerKey, 1)
	c.dyingServer(&down, one)
	from := time.Now()
	down = func() {}
	opts := quick(relay.OrderPerKey)
	opts.Lease, opts.PublishTimeout = racing.Slow*500*time.Millisecond, time.Minute
	t.runUntilSettled(c.with(t.outboxOn(t.another(), nil), opts, nil, one), 0)
	t.mustStop(stopOther)
	if took := time.Since(from); took > 40*time.Second {
		t.Errorf("it went on after %v, with a lease of %v", took, opts.Lease)
	}
	c.wantCalls("taken over", map[string]int{"a": 2})
}
