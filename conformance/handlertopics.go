package conformance

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func releasesTopics(t *env) {
	c := t.crew()
	narrow, wide := c.one("a", nil), c.one("a", nil)
	wide.Topics = []string{"conformance", "more.*"}
	stopWide := t.start(c.release(relay.OrderPerKey, wide))
	t.announced("a")
	stopNarrow := t.start(c.release(relay.OrderPerKey, narrow))
	t.eventually("both own a share", func() bool { return t.number(`SELECT COUNT(DISTINCT owner) FROM {leases} WHERE owner <> ''`) == 2 })
	var list []outbox.Event
	for i := range 12 {
		list = append(list, outbox.Event{ID: fmt.Sprint("m", i), Topic: "more.of it"})
	}
	t.write(list...)
	t.settled(0)
	t.mustStop(stopWide)
	c.wantCalls("topics", map[string]int{"a": 12})
	// Without the wide release they wait, until the topic is taken away.
	t.write(outbox.Event{ID: "waits", Topic: "more.of it"})
	t.eventually("it waits", func() bool { return t.number(`SELECT COUNT(*) FROM {deliveries} WHERE state = 0`) == 1 })
	if err := t.o.RetireHandler(t.ctx(), "a", "more.*"); err != nil {
		t.Error(err)
	}
	t.settled(0)
	t.mustStop(stopNarrow)
	c.wantCalls("topics", map[string]int{"a": 12})
}

// Another handler's beginning has old events handed over again.
func releasesNewTopic(t *env) {
	c := t.crew()
	opts := quick(relay.OrderPerKey)
	opts.Retention = time.Hour
	wide := func(one relay.Handler) relay.Handler {
		one.Topics = []string{"conformance", "more.*"}
		return one
	}
	more := func(id string) outbox.Event { return outbox.Event{ID: id, Topic: "more.of it"} }
	t.once(c.with(t.o, opts, nil, fromNow(c.one("now", nil)), c.one("oldest", nil)))
	t.write(append(events("e", 2), more("m1"))...)
	t.runUntilSettled(c.with(t.o, opts, nil, fromNow(c.one("now", nil)), c.one("oldest", nil)), 0)
	second := c.with(t.outboxOn(t.another(), nil), opts, nil, wide(fromNow(c.one("now", nil))), wide(c.one("oldest", nil)), wide(c.one("another", nil)))
	stop := t.start(second)
	t.announced("another")
	t.settled(0)
	t.write(more("m2"))
	t.settled(0)
	t.mustStop(stop)
	c.wantCalls("with a topic more", map[string]int{"now": 3, "oldest": 4, "another": 4})
	all, err := t.o.HandlerStats(t.ctx())
	if err != nil || len(all) != 3 || !slices.Equal(all[0].Topics, []string{"conformance", "more.*"}) || all[0].Lag != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// More is left than a look reads, before the one that can be run.
func releasesLackTopics(t *env) {
	const lacking = 450
	c := t.crew()
	wide := c.one("a", nil)
	wide.Topics = []string{"conformance", "more.*"}
	t.once(c.release(relay.OrderNone, wide))
	list := make([]outbox.Event, lacking, lacking+1)
	for i := range list {
		list[i] = outbox.Event{ID: fmt.Sprint("m", i), Topic: "more.of it"}
	}
	t.write(list...)
	stopOther := t.start(c.release(relay.OrderNone, c.one("other", nil)))
	left := func(n int64) func() bool {
		return func() bool { return t.number(`SELECT COUNT(*) FROM {deliveries} WHERE state = 0`) == n }
	}
	t.eventually("what it lacks is left", left(lacking))
	t.write(events("e", 1)...)
	t.eventually("what it has is left", left(lacking+1))
	t.mustStop(stopOther)
	t.exec(`UPDATE {events} SET due_ms = due_ms + 3600000 WHERE state = 0`) // so that it is served or waits
	stop := t.start(c.release(relay.OrderNone, c.one("a", nil)))
	t.eventually("what it has is run", func() bool { return len(c.of("a")) == 1 })
	t.mustStop(stop)
	c.wantEffects("past what it lacks", map[string]int{"a": 1})
}

// A handler that begins FromNow, and was announced after they were written.
func handlersLate(t *env) {
	c := t.crew()
	var log logged
	opts := quick(relay.OrderPerKey)
	opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	t.write(events("e", 3)...)
	t.runUntilSettled(c.with(t.o, opts, nil, fromNow(c.one("a", nil))), 0)
	c.wantCalls("begins later", map[string]int{"a": 0})
	if n := strings.Count(log.String(), "before its handler began"); n != 1 {
		t.Errorf("%d warnings, want one:\n%s", n, log.String())
	}
}

type logged struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
