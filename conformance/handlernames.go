package conformance

import (
	"errors"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlerNameRules() []rule {
	return []rule{
		{"a handler that was renamed twice has what it had under every name", namesTwice},
		{"a requeue names a handler by any of its names, and knows no others", namesRequeued},
		{"what was left for a handler that is then renamed is run", namesOutstanding},
		{"a name that a handler had before it was renamed is no other handler's", namesReused},
		{"a handler that was renamed and retired is retired under every name", namesRetired},
		{"each handler's numbers are those of all its names", namesStats},
	}
}

// renamed is a handler that was called former before.
func (c *crew) renamed(name, former string, fn relay.HandlerFunc) relay.Handler {
	one := c.one(name, fn)
	one.FormerName = former
	return one
}

// again has all that is kept handed over once more.
func (t *env) again() {
	t.exec(`UPDATE {events} SET state = 0, settled_ms = 0, attempts = 0, due_ms = 1 WHERE state = 1`)
}

func namesTwice(t *env) {
	c := t.crew()
	opts := quick(relay.OrderPerKey)
	opts.Retention = time.Hour
	t.write(events("e", 3)...)
	t.runUntilSettled(c.with(t.o, opts, nil, c.one("h1", nil)), 0)
	releases := []relay.Handler{c.renamed("h2", "h1", nil), c.renamed("h3", "h2", nil), c.renamed("h2", "h1", nil), c.one("h1", nil), c.renamed("h3", "h2", nil)}
	for _, one := range releases {
		t.again()
		t.runUntilSettled(c.with(t.outboxOn(t.another(), nil), opts, nil, one), 0)
	}
	c.wantCalls("renamed twice", map[string]int{"h1": 3, "h2": 0, "h3": 0})
	t.write(events("f", 2)...)
	t.runUntilSettled(c.with(t.o, opts, nil, c.renamed("h3", "h2", nil)), 0)
	c.wantCalls("under the last name", map[string]int{"h1": 3, "h2": 0, "h3": 2})
}

func namesRequeued(t *env) {
	c := t.crew()
	opts := quick(relay.OrderPerKey)
	opts.MaxAttempts = 1
	id := t.write(events("e", 1)...)[0]
	t.runUntilSettled(c.with(t.o, opts, nil, c.one("old", nil), c.one("bad", refuse)), 1)
	r := c.with(t.outboxOn(t.another(), nil), opts, nil, c.renamed("new", "old", nil), c.one("bad", refuse))
	t.drain(r)
	if n, err := t.o.RequeueHandlers(t.ctx(), []string{"new", "nobody"}, id); n != 0 || !errors.Is(err, outbox.ErrUnknownHandler) {
		t.Errorf("a handler that is unknown: %d, %v", n, err)
	}
	for i, name := range []string{"new", "old"} {
		t.exec(`DELETE FROM conformance_host`)
		if n, err := t.o.RequeueHandlers(t.ctx(), []string{name}, id); n != 1 || err != nil {
			t.Fatalf("requeue %q: %d, %v", name, n, err)
		}
		t.runUntilSettled(r, 1)
		c.wantCalls("requeued as "+name, map[string]int{"old": 1, "new": i + 1})
	}
}

func namesOutstanding(t *env) {
	c := t.crew()
	t.once(c.release(relay.OrderPerKey, c.one("old", nil)))
	t.write(events("e", 2)...)
	stopOther := c.leave(relay.OrderPerKey, 2)
	stop := t.start(c.release(relay.OrderPerKey, c.renamed("new", "old", nil)))
	t.settled(0)
	t.mustStop(stop)
	t.mustStop(stopOther)
	c.wantCalls("left, and then renamed", map[string]int{"old": 0, "new": 2, "other": 2})
}

func namesReused(t *env) {
	c := t.crew()
	t.once(c.release(relay.OrderPerKey, c.one("first", nil)))
	t.once(c.release(relay.OrderPerKey, c.renamed("second", "first", nil)))
	for _, list := range [][]relay.Handler{
		{c.renamed("second", "first", nil), c.one("first", nil)},
		{c.one("second", nil), c.one("first", nil)},
		{c.renamed("third", "second", nil), c.renamed("fourth", "first", nil)},
	} {
		if err := c.release(relay.OrderPerKey, list...).Run(t.ctx()); !errors.Is(err, relay.ErrHandlerRenamed) {
			t.Errorf("two handlers that are one to the database: %v", err)
		}
	}
}

func namesRetired(t *env) {
	c := t.crew()
	t.once(c.release(relay.OrderPerKey, c.one("old", nil)))
	t.once(c.release(relay.OrderPerKey, c.renamed("new", "old", nil)))
	if err := t.o.RetireHandler(t.ctx(), "new"); err != nil {
		t.Fatal(err)
	}
	for _, one := range []relay.Handler{c.one("old", nil), c.one("new", nil), c.renamed("new", "old", nil)} {
		if err := c.release(relay.OrderPerKey, one).Run(t.ctx()); !errors.Is(err, relay.ErrHandlerRetired) {
			t.Errorf("%q: %v", one.Name, err)
		}
	}
	t.write(events("e", 1)...)
	t.runUntilSettled(c.release(relay.OrderPerKey, c.renamed("another", "new", nil)), 0) // it is new
	c.wantCalls("retired", map[string]int{"old": 0, "new": 0, "another": 1})
}

func namesStats(t *env) {
	c := t.crew()
	opts := quick(relay.OrderPerKey)
	opts.Retention = time.Hour
	t.write(events("e", 3)...)
	t.runUntilSettled(c.with(t.o, opts, nil, c.one("old", nil)), 0)
	t.write(events("f", 2)...)
	t.runUntilSettled(c.with(t.outboxOn(t.another(), nil), opts, nil, c.renamed("new", "old", nil)), 0)
	all, err := t.o.HandlerStats(t.ctx())
	if err != nil || len(all) != 1 || all[0].Name != "new" || all[0].Former != "old" || all[0].Done != 5 || all[0].Lag != 0 {
		t.Errorf("%+v, %v; want one handler that has done 5", all, err)
	}
}
