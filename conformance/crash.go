package conformance

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/internal/inhand"
	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func crashRules() []rule {
	rules := []rule{
		{"what is in hand is noted before the hand-over", func(t *env) { crashNoted(t, relay.OrderTotal) }},
		{"what is in hand is noted before the hand-over, per key", func(t *env) { crashNoted(t, relay.OrderPerKey) }},
		{"a clean stop leaves nothing in hand", crashNothing},
	}
	rules = append(rules, inEach("an event that kills its relay is dead after exactly MaxAttempts, and only it is charged", crashCulprit)...)
	rules = append(rules, inEach("with one attempt the first crash names its culprit", crashOneAttempt)...)
	rules = append(rules, inEach("of two events that kill their relay each is dead after exactly MaxAttempts, and only they are charged", crashTwo)...)
	rules = append(rules, inEach("a crash is the first failure of its culprit, from which DeadLetterAfter counts", crashAge)...)
	rules = append(rules, inEach("a crash that killed no event of its own charges nobody", crashNobody)...)
	return append(rules, inEach("a relay that comes back to what it had in hand charges nobody", crashOwn)...)
}

// dying is a relay whose process ends when its publisher says so: from then on not one of its statements reaches the
// database.
type dying struct {
	t    *env
	dead atomic.Bool
	died chan struct{} // closed with dead
	r    *relay.Relay

	order relay.Order
}

// dyingRelay makes a relay that ends inside of the hand-over of events for which kill is true.
func (t *env) dyingRelay(order relay.Order, attempts int, p *receiver, kill func(m relay.Message) bool) *dying {
	d := &dying{t: t, died: make(chan struct{}), order: order}
	db := t.hooked(hookdb.Hooks{Before: func(string) error {
		if d.dead.Load() {
			return hookdb.ErrCut
		}
		return nil
	}})
	opts := quick(order)
	opts.MaxAttempts, opts.Lease, opts.PublishTimeout = attempts, racing.Slow*2*time.Second, time.Second
	if order != relay.OrderTotal {
		opts.Concurrency = 1
	}
	inner := &receiver{answer: func(ctx context.Context, m relay.Message) error {
		if d.dead.Load() {
			return errNo // nothing is handed over after the end
		}
		err := p.Publish(ctx, m)
		if kill(m) && d.dead.CompareAndSwap(false, true) {
			close(d.died)
		}
		return err
	}}
	d.r = t.relayOn(t.outboxOn(db, nil), inner, opts)
	return d
}

// untilDead lets the relay work until it has died or nothing is left to do, and ends what it owned by the database's
// clock. It reports whether it has died. What remains of it in this process goes on trying to record what it did, for as
// long as its lease; nothing of that arrives, so the cases that follow need not wait for it.
func (d *dying) untilDead() bool {
	t := d.t
	t.Helper()
	done := make(chan error, 1)
	ctx := t.ctx()
	t.remains.Go(func() {
		for {
			_, err := d.r.Drain(ctx)
			if err != nil || d.dead.Load() || t.number(`SELECT COUNT(*) FROM {events} WHERE state IN (0, 4, 5)`) == 0 {
				done <- err
				return
			}
			t.makeDue() // what was charged waits for its next try
		}
	})
	select {
	case <-d.died:
	case err := <-done:
		if !d.dead.Load() {
			if err != nil {
				t.Fatalf("drain: %v", err)
			}
			return false
		}
	}
	t.fell(d.order)
	return true
}

func crashNoted(t *env, order relay.Order) {
	ids := t.write(keyed("k", 3)...)
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		var text string
		if err := t.db.QueryRowContext(t.ctx(), t.sql.SQL(`SELECT in_hand FROM {relays}`)).Scan(&text); err != nil {
			t.Errorf("read what is noted: %v", err)
		}
		note, err := inhand.Decode(text)
		if err != nil || !slices.Contains(note.Seqs(), m.Seq) {
			t.Errorf("while event %d is handed over, %q is noted as in hand: %v", m.Seq, text, err)
		}
		return nil
	}}
	if n := t.once(t.otherRelay(p, quick(order))); n != 3 {
		t.Errorf("%d published", n)
	}
	equalIDs(t, "handed over", p.ids(), ids)
}

func crashNothing(t *env) {
	t.write(events("e", 3)...)
	for _, order := range allOrders {
		t.drain(t.otherRelay(&receiver{}, quick(order)))
		if n := t.number(`SELECT COUNT(*) FROM {relays}`); n != 0 {
			t.Errorf("%d relays left their row behind", n)
		}
	}
}

// The culprit stands in the middle of a batch. It is handed over exactly MaxAttempts times, each time killing its relay;
// the others are published, and their attempts say 1.
func crashAge(t *env, order relay.Order) {
	t.write(events("e", 1)...)
	for range 3 { // a suspect first, then alone, and then it is known
		t.dyingRelay(order, 9, &receiver{}, func(relay.Message) bool { return true }).untilDead()
	}
	if n := t.number(`SELECT COUNT(*) FROM {events} WHERE first_failed_ms > 0`); n != 1 {
		t.Errorf("it has not failed yet:%s", describe(t.records()))
	}
}

func crashCulprit(t *env, order relay.Order) {
	const attempts = 3
	ids := t.write(events("e", 5)...)
	culprit := ids[2]
	p := &receiver{}
	crashes := 0
	for t.dyingRelay(order, attempts, p, func(m relay.Message) bool { return m.ID == culprit }).untilDead() {
		if crashes++; crashes > attempts {
			t.Fatalf("the event killed a relay %d times:%s", crashes, describe(t.records()))
		}
	}
	if n := len(p.of(culprit)); n != attempts || crashes != attempts {
		t.Errorf("it was handed over %d times, and killed %d relays, want %d", n, crashes, attempts)
	}
	if all := t.records(); len(all) != 1 || all[0].id != culprit || all[0].state != dead || all[0].attempts != attempts {
		t.Errorf("want the culprit as a dead letter after %d attempts, and nothing else:%s", attempts, describe(all))
	}
	for _, id := range ids {
		got := p.of(id)
		if len(got) == 0 {
			t.Errorf("event %s was not handed over", id)
		}
		for _, m := range got {
			if id != culprit && m.Attempt != 1 {
				t.Errorf("event %s was charged for a crash that it only shared a batch with: attempt %d", id, m.Attempt)
			}
		}
	}
	if order == relay.OrderTotal {
		first := slices.Compact(firsts(p.ids()))
		equalIDs(t, "first hand-overs", first, ids)
	}
}

// firsts are the ids in the order of their first appearance.
func firsts(ids []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		twice := seen[id]
		seen[id] = true
		return twice
	})
}

// Both stand in the middle of a batch, each with neighbours in its key.
func crashTwo(t *env, order relay.Order) {
	const attempts = 3
	keys := t.writeKeys(3, "a", "b")
	culprits := []string{"a-1", "b-1"}
	p := &receiver{}
	crashes := 0
	for t.dyingRelay(order, attempts, p, func(m relay.Message) bool { return slices.Contains(culprits, m.ID) }).untilDead() {
		if crashes++; crashes > 2*attempts {
			t.Fatalf("they killed %d relays:%s", crashes, describe(t.records()))
		}
	}
	if crashes != 2*attempts {
		t.Errorf("they killed %d relays, want %d", crashes, 2*attempts)
	}
	equalIDs(t, "dead letters", t.deadIDs(outbox.DeadLetterQuery{}), culprits)
	for key, ids := range keys {
		for _, id := range ids {
			got := p.of(id)
			culprit := slices.Contains(culprits, id)
			if len(got) == 0 || culprit && len(got) != attempts {
				t.Errorf("event %s was handed over %d times", id, len(got))
			}
			for _, m := range got {
				if m.Attempt != 1 && !culprit {
					t.Errorf("event %s was charged for a crash that it only shared a batch with: attempt %d", id, m.Attempt)
				}
			}
		}
		if order != relay.OrderNone {
			equalIDs(t, key+": first hand-overs", firsts(p.ofKey(key)), ids)
		}
	}
}

// The database is away for longer than the lease, and the process lives. The event was published, which could not be
// recorded; with one attempt it would be a dead letter if that counted as a crash.
func crashOwn(t *env, order relay.Order) {
	t.write(keyed("k", 2)...)
	var away atomic.Bool
	entered := make(chan relay.Message, 10)
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		if len(entered) == 0 {
			away.Store(true)
		}
		entered <- m
		return nil
	}}
	opts := quick(order)
	opts.MaxAttempts, opts.Lease = 1, 400*time.Millisecond
	r := t.switchable(&away).relay(p, opts)
	stop := t.start(r)
	t.eventually("it hands over", func() bool { return len(entered) > 0 })
	passes(t, opts.Lease+100*time.Millisecond)
	away.Store(false)
	t.eventually("all is published", func() bool { return t.number(`SELECT COUNT(*) FROM {events} WHERE state IN (0, 4, 5)`) == 0 })
	t.mustStop(stop)
	if all := t.records(); len(all) != 0 {
		t.Errorf("left:%s", describe(all))
	}
	for _, m := range p.messages() {
		if m.Attempt != 1 {
			t.Errorf("event %s: attempt %d, want 1", m.ID, m.Attempt)
		}
	}
	if order != relay.OrderNone {
		equalIDs(t, "first hand-overs", firsts(p.ids()), []string{"k-0", "k-1"})
	}
}

func crashOneAttempt(t *env, order relay.Order) {
	ids := t.write(events("e", 3)...)
	culprit := ids[1]
	p := &receiver{}
	crashes := 0
	for t.dyingRelay(order, 1, p, func(m relay.Message) bool { return m.ID == culprit }).untilDead() {
		if crashes++; crashes > 1 {
			t.Fatal("the event killed two relays, with one attempt")
		}
	}
	if all := t.records(); len(all) != 1 || all[0].id != culprit || all[0].state != dead || crashes != 1 {
		t.Errorf("%d crashes, left:%s", crashes, describe(all))
	}
	for _, id := range ids {
		if n := len(p.of(id)); n != 1 {
			t.Errorf("event %s was handed over %d times, want once", id, n)
		}
	}
}

// The process ends once, with a batch in hand, for reasons of its own: a deploy, the machine.
func crashNobody(t *env, order relay.Order) {
	t.write(events("e", 4)...)
	p := &receiver{}
	died := false
	if !t.dyingRelay(order, 5, p, func(relay.Message) bool { died = true; return died }).untilDead() {
		t.Fatal("the relay did not die")
	}
	after := &receiver{}
	t.drain(t.otherRelay(after, quick(order)))
	for _, m := range after.messages() {
		if m.Attempt != 1 {
			t.Errorf("event %s: attempt %d, want 1", m.ID, m.Attempt)
		}
	}
	sameIDs(t, "handed over after the crash", after.ids(), []string{"e-0", "e-1", "e-2", "e-3"})
	if all := t.records(); len(all) != 0 {
		t.Errorf("left:%s", describe(all))
	}
	// A new event is not taken for a suspect.
	t.write(outbox.Event{ID: "new", Topic: "t"})
	t.drain(t.otherRelay(after, quick(order)))
}
