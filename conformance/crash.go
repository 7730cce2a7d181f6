package conformance

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/conformance/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func crashRules() []rule {
	rules := []rule{
		{"what is in hand is noted before the hand-over", crashNoted},
		{"a clean stop leaves nothing in hand", crashNothing},
	}
	rules = append(rules, inBoth("an event that kills its relay is dead after exactly MaxAttempts, and only it is charged", crashCulprit)...)
	rules = append(rules, inBoth("with one attempt the first crash names its culprit", crashOneAttempt)...)
	return append(rules, inBoth("a crash that killed no event of its own charges nobody", crashNobody)...)
}

// dying is a relay whose process ends when its publisher says so: from then on not one of its statements reaches the
// database.
type dying struct {
	t    *env
	dead atomic.Bool
	died chan struct{} // closed with dead
	r    *relay.Relay
}

// dyingRelay makes a relay that ends inside of the hand-over of events for which kill is true.
func (t *env) dyingRelay(order relay.Order, attempts int, p *receiver, kill func(m relay.Message) bool) *dying {
	d := &dying{t: t, died: make(chan struct{})}
	db := t.hooked(hookdb.Hooks{Before: func(string) error {
		if d.dead.Load() {
			return hookdb.ErrCut
		}
		return nil
	}})
	opts := quick(order)
	opts.MaxAttempts, opts.Lease, opts.PublishTimeout = attempts, 2*time.Second, time.Second
	if order == relay.OrderNone {
		opts.Concurrency = 1
	}
	inner := &receiver{answer: func(ctx context.Context, m relay.Message) error {
		if d.dead.Load() {
			return errNo // nothing is handed over after the end
		}
		err := p.Publish(ctx, m)
		if kill(m) {
			d.dead.Store(true)
			close(d.died)
		}
		return err
	}}
	d.r = t.relayOn(t.outboxOn(db, nil), inner, opts)
	return d
}

// untilDead lets the relay work until it has died or nothing is left to do, and ends what it owned by the database's
// clock. It reports whether it has died. What remains of it in this process ends with the case.
func (d *dying) untilDead() bool {
	t := d.t
	t.Helper()
	done := make(chan error, 1)
	ctx := t.ctx()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			_, err := d.r.Drain(ctx)
			if err != nil || d.dead.Load() || t.number(`SELECT COUNT(*) FROM {events} WHERE state = 0`) == 0 {
				done <- err
				return
			}
			t.makeDue() // what was charged waits for its next try
		}
	}()
	t.Cleanup(func() { <-ended })
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
	t.exec(`UPDATE {leases} SET until_ms = 1 WHERE owner <> ''`)
	t.exec(`UPDATE {events} SET due_ms = 1 WHERE state = 0`)
	return true
}

func crashNoted(t *env) {
	t.write(events("e", 3)...)
	seqs := t.records()
	noted := ""
	p := &receiver{answer: func(context.Context, relay.Message) error {
		return t.db.QueryRowContext(t.ctx(), t.sql.SQL(`SELECT in_hand FROM {relays}`)).Scan(&noted)
	}}
	r := t.otherRelay(p, quick(relay.OrderTotal))
	if n := t.once(r); n != 3 {
		t.Errorf("%d published", n)
	}
	if noted == "" {
		t.Errorf("nothing was noted as in hand for events %d to %d", seqs[0].seq, seqs[2].seq)
	}
}

func crashNothing(t *env) {
	t.write(events("e", 3)...)
	for _, order := range []relay.Order{relay.OrderTotal, relay.OrderNone} {
		t.drain(t.otherRelay(&receiver{}, quick(order)))
		if n := t.number(`SELECT COUNT(*) FROM {relays}`); n != 0 {
			t.Errorf("%d relays left their row behind", n)
		}
	}
}

// The culprit stands in the middle of a batch. It is handed over exactly MaxAttempts times, each time killing its relay;
// the others are published, and their attempts say 1.
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
