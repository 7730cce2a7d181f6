package conformance

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

var errNo = errors.New("no")

func orderRules() []rule {
	return append([]rule{
		{"events are handed over in the order of insertion", orderInsertion},
		{"an event that waits for its next try holds what is behind it", orderHolds},
		{"without order a failure stops nothing", orderNoneFlows},
		{"without order an older event comes first", orderNoneOldest},
		{"Wake makes an idle relay look now", orderWake},
	}, inEach("RunOnce takes one batch, Drain all that is due", orderPasses)...)
}

func orderInsertion(t *env) {
	want := t.write(events("a", 120)...)
	want = append(want, t.write(events("b", 3)...)...)
	p := &receiver{}
	opts := quick(relay.OrderTotal)
	opts.Batch = 50
	if n := t.drain(t.relay(p, opts)); n != len(want) {
		t.Errorf("%d published, want %d", n, len(want))
	}
	equalIDs(t, "handed over", p.ids(), want)
	if all := t.records(); len(all) != 0 {
		t.Errorf("left:%s", describe(all))
	}
}

func orderHolds(t *env) {
	ids := t.write(events("e", 4)...)
	fail := true
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		if m.ID == ids[1] && fail {
			return relay.RetryAfter(time.Hour, errNo)
		}
		return nil
	}}
	r := t.relay(p, quick(relay.OrderTotal))
	t.drain(r)
	ids = append(ids, t.write(events("late", 1)...)...)
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), ids[:2])
	if x := t.record(ids[1]); x.state != pending || x.attempts != 1 || !strings.Contains(x.lastError, errNo.Error()) {
		t.Errorf("the failed event:%s", describe([]record{x}))
	}
	fail = false
	t.makeDue()
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), []string{ids[0], ids[1], ids[1], ids[2], ids[3], ids[4]})
}

func orderNoneFlows(t *env) {
	bad := t.write(events("bad", 10)...)
	good := t.write(events("good", 30)...)
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		if string(m.Payload) == "bad" {
			return relay.RetryAfter(time.Hour, errNo)
		}
		return nil
	}}
	opts := quick(relay.OrderNone)
	opts.Batch = 10 // full of bad ones at the head
	if n := t.drain(t.relay(p, opts)); n != len(good) {
		t.Errorf("%d published, want %d", n, len(good))
	}
	sameIDs(t, "handed over", p.ids(), append(bad, good...))
}

func orderNoneOldest(t *env) {
	want := t.write(events("e", 20)...)
	t.exec(`UPDATE {events} SET due_ms = 1`) // alike, so that seq decides
	p := &receiver{}
	opts := quick(relay.OrderNone)
	opts.Batch, opts.Concurrency = 7, 1
	r := t.relay(p, opts)
	for range 3 { // a claim each; those of one pass may overtake each other
		t.once(r)
	}
	equalIDs(t, "handed over", p.ids(), want)
}

func orderPasses(t *env, order relay.Order) {
	t.write(events("e", 25)...)
	opts := quick(order)
	opts.Batch = 10
	r := t.relay(&receiver{}, opts)
	if n := t.once(r); n != 10 {
		t.Errorf("RunOnce published %d, want 10", n)
	}
	if n := t.drain(r); n != 15 {
		t.Errorf("Drain published %d, want 15", n)
	}
	if n := t.once(r) + t.drain(r); n != 0 {
		t.Errorf("%d more were published", n)
	}
}

func orderWake(t *env) {
	p := &receiver{}
	opts := quick(relay.OrderTotal)
	opts.Poll, opts.PollMax = time.Hour, time.Hour
	r := t.relay(p, opts)
	stop := t.start(r)
	for _, e := range events("e", 3) {
		ids := t.write(e) // InTx wakes
		t.eventually("it is handed over without waiting for a poll", func() bool { return len(p.of(ids[0])) == 1 })
	}
	t.mustStop(stop)
}
