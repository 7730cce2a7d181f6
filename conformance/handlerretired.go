package conformance

import (
	"errors"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlerRetiredRules() []rule {
	return []rule{
		{"a topic that is added to a handler which begins with the oldest brings it what is kept", oldestNewTopic},
		{"an event that is older than its handlers goes by, and a warning says so once", handlersLate},
		{"a topic that is retired stays so when an older release starts again, and what was left of it is not run", retiredTopic},
		{"a topic that a handler never had can't be retired", retiredTypo},
		{"a handler that is retired can't be requeued by name", retiredRequeued},
	}
}

func oldestNewTopic(t *env) {
	c := t.crew()
	opts := quick(relay.OrderPerKey)
	opts.Retention = time.Hour
	one := c.one("a", nil)
	r := c.with(t.o, opts, nil, one)
	t.write(append(events("e", 2), outbox.Event{ID: "m", Topic: "more.of it"})...)
	t.runUntilSettled(r, 0)
	c.wantCalls("before", map[string]int{"a": 2})
	one.Topics = []string{"conformance", "more.*"}
	stop := t.start(c.with(t.outboxOn(t.another(), nil), opts, nil, one))
	t.eventually("it has what is kept", func() bool { return slices.Contains(c.of("a"), "m") })
	t.settled(0)
	t.mustStop(stop)
	c.wantCalls("with a topic more", map[string]int{"a": 3})
}

func retiredTopic(t *env) {
	c := t.crew()
	wide := c.one("a", nil)
	wide.Topics = []string{"conformance", "more.*"}
	t.once(c.release(relay.OrderNone, wide))
	t.write(outbox.Event{ID: "m", Topic: "more.of it"})
	t.mustStop(c.leave(relay.OrderNone, 1))
	t.exec(`UPDATE {events} SET due_ms = due_ms + 3600000`)     // so that it is served or waits
	t.exec(`UPDATE {deliveries} SET due_ms = due_ms + 3600000`) // not yet
	stop := t.start(c.release(relay.OrderNone, wide))           // has it, and is at work
	t.eventually("it is at work", func() bool { return t.number(`SELECT COUNT(*) FROM {relays}`) == 1 })
	if err := t.o.RetireHandler(t.ctx(), "a", "more.*"); err != nil {
		t.Fatal(err)
	}
	t.exec(`UPDATE {events} SET due_ms = due_ms + 3600000`)
	t.exec(`UPDATE {deliveries} SET due_ms = 1`)
	passes(t, 300*time.Millisecond)
	t.mustStop(stop)
	err := c.release(relay.OrderNone, wide).Run(t.ctx())
	if !errors.Is(err, relay.ErrHandlerRetired) {
		t.Errorf("an older release starts again: %v", err)
	}
	all, err := t.o.HandlerStats(t.ctx())
	if err != nil || !slices.Equal(all[0].Topics, []string{"conformance"}) {
		t.Errorf("%+v, %v", all, err)
	}
	if err := t.o.RetireHandler(t.ctx(), "a", "more.*"); err != nil {
		t.Errorf("retired twice: %v", err)
	}
	c.wantCalls("retired", map[string]int{"a": 0})
}

func retiredTypo(t *env) {
	c := t.crew()
	t.once(c.release(relay.OrderPerKey, c.one("a", nil)))
	if err := t.o.RetireHandler(t.ctx(), "a", "conformance", "conformence"); !errors.Is(err, outbox.ErrUnknownHandler) {
		t.Errorf("a topic that it never had: %v", err)
	}
	t.write(events("e", 1)...)
	t.runUntilSettled(c.release(relay.OrderPerKey, c.one("a", nil)), 0)
	c.wantCalls("nothing was changed", map[string]int{"a": 1})
}

func retiredRequeued(t *env) {
	c := t.crew()
	t.write(events("e", 1)...)
	t.runUntilSettled(c.release(relay.OrderPerKey, c.one("a", nil), c.one("bad", refuse)), 1)
	if err := t.o.RetireHandler(t.ctx(), "a"); err != nil {
		t.Fatal(err)
	}
	if n, err := t.o.RequeueHandlers(t.ctx(), []string{"a"}, "e-0"); n != 0 || !errors.Is(err, outbox.ErrUnknownHandler) {
		t.Errorf("requeued: %d, %v", n, err)
	}
	if n := t.number(`SELECT COUNT(*) FROM {events} WHERE state = 2`); n != 1 {
		t.Errorf("%d dead letters, want 1", n)
	}
}
