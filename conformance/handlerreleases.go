package conformance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlerReleaseRules() []rule {
	var rules []rule
	for _, both := range [][]rule{
		inEach("two releases with different handlers run side by side, and each handler has each event once", releasesSideBySide),
		inEach("an event that is in hand when a handler is announced that begins with the oldest goes to it as well", releasesInHand),
		inEach("an event waits for a handler of another release until that is retired", releasesRetired),
		inEach("a handler that was renamed has what it had before, in both releases", releasesRenamed),
	} {
		rules = append(rules, both...)
	}
	return append(rules,
		rule{"a release that has fewer topics of a handler takes none away", releasesTopics},
		rule{"a topic that is added to a handler begins where the handler says", releasesNewTopic},
		rule{"what is left for topics that a release lacks is in the way of nothing that it has", releasesLackTopics},
		rule{"a handler of another release has exactly its number of attempts", releasesAttempts},
		rule{"a crash in what was left for another release counts", releasesCrash},
		rule{"what is left for another release is run beside what fails", releasesServe},
		rule{"a retired handler's name is not to be had again", releasesName})
}

func fromNow(one relay.Handler) relay.Handler {
	one.From = relay.FromNow
	return one
}

// release is a relay with handlers on a pool of its own, as another process has it.
func (c *crew) release(order relay.Order, list ...relay.Handler) *relay.Relay {
	opts := quick(order)
	opts.Batch = 10
	return c.with(c.t.outboxOn(c.t.another(), nil), opts, nil, list...)
}

// ofKeys are events of a few keys.
func ofKeys(prefix string, n int) []outbox.Event {
	list := events(prefix, n)
	for i := range list {
		list[i].Key = fmt.Sprintf("key %d", i%7)
	}
	return list
}

// announced waits until a handler has begun.
func (t *env) announced(name string) {
	t.Helper()
	t.eventually("handler "+name+" has begun", func() bool {
		return t.number(`SELECT COUNT(*) FROM {handlers} WHERE from_seq >= 0 AND name = ?`, name) == 1
	})
}

func releasesSideBySide(t *env, order relay.Order) {
	n := 60
	if order == relay.OrderTotal {
		n = 9 // one after another, and each waits for a look of the other release
	}
	c := t.crew()
	stopA := t.start(c.release(order, fromNow(c.one("a", nil)), fromNow(c.one("b", nil))))
	t.announced("a")
	t.announced("b")
	t.write(ofKeys("early", n)...)
	stopB := t.start(c.release(order, fromNow(c.one("b", nil)), fromNow(c.one("c", nil)), c.one("d", nil)))
	t.announced("c")
	t.announced("d")
	before := t.number(`SELECT from_seq FROM {handlers} WHERE name = 'c'`)
	t.write(ofKeys("late", n)...)
	t.settled(0)
	t.mustStop(stopA)
	t.mustStop(stopB)
	c.wantEffects("side by side", map[string]int{"a": 2 * n, "b": 2 * n})
	early := t.number(`SELECT COUNT(*) FROM conformance_host WHERE id % 100 = 2 AND id / 100 < ?`, before)
	if early != 0 {
		t.Errorf("%d events went to a handler that begins with later ones", early)
	}
	if got := t.number(`SELECT COUNT(*) FROM conformance_host WHERE id % 100 = 2`); got != int64(n) {
		t.Errorf("the handler that came later has %d events, want the %d that were written from then on", got, n)
	}
	if got := t.number(`SELECT COUNT(*) FROM conformance_host WHERE id % 100 = 3`); got < int64(n) {
		t.Errorf("the handler that begins with the oldest pending event has %d events, want at least %d", got, n)
	}
}

func releasesInHand(t *env, order relay.Order) {
	c := t.crew()
	open, inside := make(chan struct{}), make(chan struct{}, 1)
	slow := relay.Handler{Name: "slow", Topics: []string{"*"}, From: relay.FromOldest, NoTx: func(context.Context, relay.Message) error {
		inside <- struct{}{}
		<-open
		return nil
	}}
	t.write(events("e", 1)...)
	stop := t.start(c.release(order, slow))
	await(t, "the slow handler", inside)
	h, err := relay.NewHandlers(t.o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Add(c.one("new", nil)); err != nil {
		t.Fatal(err)
	}
	second := t.relay(h, quick(order))
	if err := h.Announce(t.ctx()); err != nil {
		t.Fatal(err)
	}
	close(open)
	stopSecond := t.start(second)
	t.settled(0)
	t.mustStop(stop)
	t.mustStop(stopSecond)
	c.wantCalls("in hand", map[string]int{"new": 1})
}

func releasesRetired(t *env, order relay.Order) {
	c := t.crew()
	t.once(c.release(order, c.one("a", nil), c.one("gone", nil)))
	id := t.write(events("e", 1)...)[0]
	stop := t.start(c.release(order, c.one("a", nil)))
	t.eventually("it is left for the other release", func() bool { return t.number(`SELECT COUNT(*) FROM {deliveries} WHERE state = 0`) == 1 })
	passes(t, 100*time.Millisecond)
	t.eventually("it is not charged", func() bool { return t.record(id).attempts == 0 }) // OrderNone counts while it is in hand
	all, err := t.o.HandlerStats(t.ctx())
	if err != nil || len(all) != 2 || all[1].Outstanding != 1 {
		t.Errorf("stats: %+v, %v", all, err)
	}
	if err := t.o.RetireHandler(t.ctx(), "gone"); err != nil {
		t.Error(err)
	}
	t.settled(0)
	t.mustStop(stop)
	c.wantCalls("retired", map[string]int{"a": 1, "gone": 0})
}

func releasesRenamed(t *env, order relay.Order) {
	c := t.crew()
	opts := quick(order)
	opts.Retention = time.Hour
	old := c.one("old name", nil)
	t.write(events("e", 3)...)
	t.runUntilSettled(c.with(t.o, opts, nil, old), 0)
	renamed := c.one("new name", nil)
	renamed.FormerName = "old name"
	t.once(c.with(t.o, opts, nil, renamed))
	// All is handed over again, to both releases, also after a restart of the old one.
	t.again()
	o := t.outboxOn(t.another(), nil)
	stopOld := t.start(c.with(o, opts, nil, old))
	stopNew := t.start(c.with(t.o, opts, nil, renamed))
	t.write(events("f", 20)...)
	t.settled(0)
	t.mustStop(stopOld)
	t.mustStop(stopNew)
	calls := len(c.of("old name")) + len(c.of("new name"))
	if calls != 23 {
		t.Errorf("%d calls under the old name and %d under the new, want 23 in all", len(c.of("old name")), len(c.of("new name")))
	}
	if n := t.number(`SELECT COUNT(*) FROM conformance_host`); n != 23 {
		t.Errorf("%d effects, want 23", n)
	}
	if n := t.number(`SELECT COUNT(*) FROM {handlers} WHERE former_name = ''`); n != 1 {
		t.Errorf("%d handlers, want the one that was renamed", n)
	}
}

func releasesAttempts(t *env) {
	c := t.crew()
	bad := c.one("bad", refuse)
	bad.MaxAttempts = 3
	t.once(c.release(relay.OrderPerKey, bad))
	id := t.write(events("e", 1)...)[0]
	stopOther := t.start(c.release(relay.OrderPerKey, c.one("a", nil)))
	t.eventually("it is left for the other release", func() bool { return t.number(`SELECT COUNT(*) FROM {deliveries} WHERE state = 0`) == 1 })
	// It owns nothing, and serves what is left.
	opts := quick(relay.OrderPerKey)
	stop := t.start(c.with(t.outboxOn(t.another(), nil), opts, nil, bad))
	t.settled(1)
	t.mustStop(stop)
	t.mustStop(stopOther)
	c.wantCalls("attempts", map[string]int{"bad": 3, "a": 1})
	if text := t.record(id).lastError; !strings.Contains(text, `"bad"`) || !strings.Contains(text, errNo.Error()) {
		t.Errorf("last_error %q", text)
	}
}

// What has ended its process in a delivery that was left for it has used up an attempt.
func releasesCrash(t *env) {
	c := t.crew()
	bad := c.one("bad", nil)
	bad.MaxAttempts = 2
	t.once(c.release(relay.OrderPerKey, bad))
	id := t.write(events("e", 1)...)[0]
	stopOther := t.start(c.release(relay.OrderPerKey, c.one("a", nil)))
	t.eventually("it is left for the other release", func() bool { return t.number(`SELECT COUNT(*) FROM {deliveries} WHERE state = 0`) == 1 })
	t.exec(`UPDATE {deliveries} SET attempts = 2, settled_ms = -1 WHERE state = 0`) // claimed twice, and never heard of again
	stop := t.start(c.release(relay.OrderPerKey, bad))
	t.settled(1)
	t.mustStop(stop)
	t.mustStop(stopOther)
	c.wantCalls("crashed twice", map[string]int{"bad": 0, "a": 1})
	if text := t.record(id).lastError; !strings.Contains(text, `"bad"`) || !strings.Contains(text, "process ended") {
		t.Errorf("last_error %q", text)
	}
}

// One that does not return, and one that fails, hold up none of the others.
func releasesServe(t *env) {
	c := t.crew()
	var out atomic.Int64
	open := make(chan struct{})
	mine := c.one("mine", func(_ context.Context, _ *sql.Tx, m relay.Message) error {
		if m.ID == "e-1" && m.Attempt < 3 {
			return errNo
		}
		return nil
	})
	stuck := relay.Handler{Name: "stuck", Topics: []string{"*"}, From: relay.FromOldest, NoTx: func(context.Context, relay.Message) error {
		if out.Add(1) == 1 {
			<-open
		}
		return nil
	}}
	t.once(c.release(relay.OrderNone, mine, stuck, c.one("others", nil)))
	t.write(events("e", 12)...)
	stopOther := t.start(c.release(relay.OrderNone, c.one("others", nil)))
	t.eventually("all is left for the other release", func() bool { return t.number(`SELECT COUNT(*) FROM {deliveries} WHERE state = 0`) == 24 })
	opts := quick(relay.OrderNone)
	opts.PublishTimeout = 200 * time.Millisecond
	stop := t.start(c.with(t.outboxOn(t.another(), nil), opts, nil, mine, stuck, c.one("others", nil)))
	t.eventually("all others are through", func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) <= 1 })
	close(open)
	t.settled(0)
	t.mustStop(stop)
	t.mustStop(stopOther)
	c.wantEffects("served", map[string]int{"mine": 12, "others": 12})
}

func releasesName(t *env) {
	c := t.crew()
	t.once(c.release(relay.OrderPerKey, c.one("a", nil)))
	if err := t.o.RetireHandler(t.ctx(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := c.release(relay.OrderPerKey, c.one("a", nil)).Run(t.ctx()); !errors.Is(err, relay.ErrHandlerRetired) {
		t.Errorf("a relay with a retired handler: %v", err)
	}
	again := fromNow(c.one("b", nil))
	again.FormerName = "a"
	t.once(c.release(relay.OrderPerKey, again))
	if n := t.number(`SELECT COUNT(*) FROM {handlers} WHERE retired_ms = 0 AND former_name = ''`); n != 1 {
		t.Errorf("a handler took over from a retired one")
	}
}
