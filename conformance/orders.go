package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

var allOrders = []relay.Order{relay.OrderTotal, relay.OrderPerKey, relay.OrderNone}

// inEachPair is a rule that holds from each order to each other one.
func inEachPair(name string, run func(t *env, from, to relay.Order)) []rule {
	var rules []rule
	for _, from := range allOrders {
		for _, to := range allOrders {
			if from != to {
				rules = append(rules, rule{fmt.Sprintf("%s, %v to %v", name, from, to), func(t *env) { run(t, from, to) }})
			}
		}
	}
	return rules
}

func orderChangeRules() []rule {
	var rules []rule
	for _, each := range [][]rule{
		inEachPair("a relay of another order is refused while one lives", ordersRefused),
		inEachPair("a killed relay of another order is waited for until its time is over", ordersWaited),
		inEachPair("a change of order loses nothing, and publishes each event once", ordersChanged),
	} {
		rules = append(rules, each...)
	}
	for _, to := range []relay.Order{relay.OrderTotal, relay.OrderPerKey} {
		rules = append(rules, rule{
			fmt.Sprintf("claims of a relay that died are charged to the culprit alone, none to %v", to),
			func(t *env) { ordersClaims(t, to) },
		})
	}
	return rules
}

func ordersRefused(t *env, from, to relay.Order) {
	opts := quick(from)
	opts.Lease = racing.Slow * 1500 * time.Millisecond // a sign of life each third of it, and each is waited for; longer than a busy machine stops
	first := &receiver{}
	stop := t.start(t.otherRelay(first, opts))
	t.eventually("the first lives", func() bool { return len(t.living()) == 1 })
	x := t.living()[0]
	p := &receiver{}
	second := t.otherRelay(p, quick(to))
	for name, run := range map[string]func() error{
		"Run":     func() error { return second.Run(t.ctx()) },
		"RunOnce": func() error { _, err := second.RunOnce(t.ctx()); return err },
		"Drain":   func() error { _, err := second.Drain(t.ctx()); return err },
	} {
		err := run()
		if !errors.Is(err, relay.ErrOrder) {
			t.Errorf("%s: got %v, want relay.ErrOrder", name, err)
			continue
		}
		for _, part := range []string{x.ID, x.Host, fmt.Sprint(x.Process), from.String()} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error does not name %q: %v", name, part, err)
			}
		}
	}
	ids := t.write(keyed("k", 2)...)
	t.eventually("the first works on", func() bool { return len(first.ids()) == 2 })
	t.mustStop(stop)
	ids = append(ids, t.write(keyed("l", 2)...)...)
	t.drain(second)
	sameIDs(t, "handed over", append(first.ids(), p.ids()...), ids)
}

func ordersWaited(t *env, from, to relay.Order) {
	ids := t.write(keyed("k", 3)...)
	t.exec(`INSERT INTO {relays} (id, host, process, order_name, since_ms, seen_ms, until_ms) VALUES (?, ?, ?, ?, {clock}, {clock}, {clock} + 150)`,
		"gone", "host", int64(1), from.String())
	until := t.number(`SELECT until_ms FROM {relays}`)
	early := false
	p := &receiver{answer: func(context.Context, relay.Message) error {
		early = early || t.number(readClock) < until
		return nil
	}}
	opts := quick(to)
	if to != relay.OrderTotal {
		opts.Concurrency = 1
	}
	t.drain(t.otherRelay(p, opts))
	sameIDs(t, "handed over", p.ids(), ids)
	if early {
		t.Error("it worked while the other's time was not over")
	}
}

// relaysFell ends the time of all relays by the database's clock: nobody of another order needs to wait for it.
func (t *env) relaysFell() {
	t.exec(`UPDATE {relays} SET until_ms = 1, seen_ms = 1 WHERE order_name <> 'crash'`)
}

// ordersChanged leaves events in every state that an order leaves them in: published, dead, failed and waiting, held
// behind it, in hand of a relay that was killed.
func ordersChanged(t *env, from, to relay.Order) {
	ids := slices.Concat(t.write(keyed("a", 4)...), t.write(keyed("b", 4)...), t.write(keyed("c", 4)...), t.write(events("none", 4)...))
	count := map[string]int{}
	f := fail(inAnHour, "a-1", "none-1")
	f.set("b-1", permanent)
	before := &receiver{answer: f.answer}
	opts := quick(from)
	if from != relay.OrderTotal {
		opts.Concurrency = 1
	}
	t.drain(t.otherRelay(before, opts))
	for _, id := range before.ids() {
		if f.ids[id] == nil {
			count[id]++
		}
	}
	ids = append(ids, t.write(keyed("a", 8)[4:]...)...)
	ids = append(ids, t.write(keyed("c", 8)[4:]...)...)
	t.makeDue()
	killed := &receiver{}
	if !t.dyingRelay(from, 11, killed, func(relay.Message) bool { return true }).untilDead() {
		t.Fatal("no relay was killed")
	}
	t.relaysFell()
	t.makeDue()

	after := &receiver{}
	opts = quick(to)
	if to == relay.OrderPerKey {
		opts.Batch = 3
	}
	r := t.otherRelay(after, opts)
	t.drain(r)
	t.makeDue() // what the crash made wait
	t.drain(r)
	for _, id := range after.ids() {
		count[id]++
	}
	for _, id := range ids {
		switch n := count[id]; {
		case id == "b-1" && len(before.of(id)) > 0:
			if n != 0 {
				t.Errorf("a dead letter was handed over %d times", n)
			}
		case n != 1:
			t.Errorf("event %s was published %d times", id, n)
		}
	}
	t.wantAscending(after, to)
	if n := t.number(`SELECT COUNT(*) FROM {events} WHERE state <> 2`); n != 0 {
		t.Errorf("left:%s", describe(t.records()))
	}
	if n := t.number(`SELECT COUNT(*) FROM {held}`); n != 0 {
		t.Errorf("%d events hold their key, and all are through", n)
	}
}

// wantAscending checks that hand-overs came in the order that is promised.
func (t *env) wantAscending(p *receiver, order relay.Order) {
	t.Helper()
	last := map[string]relay.Message{}
	for _, m := range p.messages() {
		key := m.Key
		switch {
		case order == relay.OrderNone, order == relay.OrderPerKey && key == "":
			continue
		case order == relay.OrderTotal:
			key = ""
		}
		if m.Seq < last[key].Seq {
			t.Errorf("event %s (seq %d) was handed over after %s (seq %d)", m.ID, m.Seq, last[key].ID, last[key].Seq)
		}
		last[key] = m
	}
}

// The culprit kills two relays: the first with all events claimed, the second with the culprit alone.
func ordersClaims(t *env, to relay.Order) {
	ids := t.write(keyed("k", 5)...)
	culprit := ids[0]
	p := &receiver{}
	for range 2 {
		if !t.dyingRelay(relay.OrderNone, 5, p, func(m relay.Message) bool { return m.ID == culprit }).untilDead() {
			t.Fatal("the relay did not die")
		}
	}
	t.relaysFell()
	after := &receiver{}
	t.drain(t.otherRelay(after, quick(to)))
	equalIDs(t, "handed over", after.ids(), ids)
	for _, m := range after.messages() {
		want := 1
		if m.ID == culprit {
			want = 3
		}
		if m.Attempt != want || m.Requeued {
			t.Errorf("event %s: attempt %d, want %d; requeued %v", m.ID, m.Attempt, want, m.Requeued)
		}
	}
	// As a dead letter, where that were its last.
	other := t.write(outbox.Event{ID: "last one", Topic: "t", Key: "k"}, outbox.Event{ID: "behind it", Topic: "t", Key: "k"})
	for range 2 {
		if !t.dyingRelay(relay.OrderNone, 3, p, func(m relay.Message) bool { return m.ID == other[0] }).untilDead() {
			t.Fatal("the relay did not die")
		}
	}
	t.relaysFell()
	opts := quick(to)
	opts.MaxAttempts = 2
	after = &receiver{}
	t.drain(t.otherRelay(after, opts))
	equalIDs(t, "handed over", after.ids(), other[1:])
	equalIDs(t, "dead letters", t.deadIDs(outbox.DeadLetterQuery{}), other[:1])
}
