package conformance

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/relay"
)

func claimRules() []rule {
	return []rule{
		{"two claimers share the work", claimsShared},
		{"a claimed event is not claimed again", claimsExclusive},
		{"a claim that lapsed is taken", claimsLapse},
		{"a claim that lapsed is taken in its turn, while a relay is busy", claimsLapseAmidOthers},
		{"a late claimer's outcome is refused", claimsLate},
		{"a claim is extended while a publisher takes its time", claimsExtended},
		{"events are handed over at once, up to Concurrency", claimsConcurrent},
		{"claimers publish each event exactly once", claimsOnce},
	}
}

func claimsShared(t *env) {
	ids := t.write(events("e", 10)...)
	opts := quick(relay.OrderNone)
	opts.Batch = 5
	a, b := newGate(), newGate()
	doneA := t.pass(t.otherRelay(a, opts))
	await(t, "the first hands over", a.entered)
	doneB := t.pass(t.otherRelay(b, opts))
	await(t, "the second hands over meanwhile", b.entered)
	close(a.open)
	close(b.open)
	for _, done := range []<-chan error{doneA, doneB} {
		if err := await(t, "it is done", done); err != nil {
			t.Error(err)
		}
	}
	if len(a.ids()) != 5 || len(b.ids()) != 5 {
		t.Errorf("of 10 events one published %d, the other %d", len(a.ids()), len(b.ids()))
	}
	sameIDs(t, "handed over", slices.Concat(a.ids(), b.ids()), ids)
}

func claimsExclusive(t *env) {
	t.write(events("e", 3)...)
	g, second := newGate(), &receiver{}
	done := t.pass(t.otherRelay(g, quick(relay.OrderNone)))
	await(t, "the first hands over", g.entered)
	if n := t.once(t.otherRelay(second, quick(relay.OrderNone))); n != 0 {
		t.Errorf("%q were handed over by another meanwhile", second.ids())
	}
	close(g.open)
	if err := await(t, "it is done", done); err != nil {
		t.Error(err)
	}
}

func claimsLapse(t *env) {
	ids := t.write(events("e", 3)...)
	t.exec(`UPDATE {events} SET claimed_by = ?, claim_token = 4, attempts = 1, total_attempts = 1, due_ms = {clock} - 1`, "gone/1")
	p := &receiver{}
	t.drain(t.otherRelay(p, quick(relay.OrderNone)))
	sameIDs(t, "handed over", p.ids(), ids)
	for _, m := range p.messages() {
		if m.Token <= 4 {
			t.Errorf("event %s is handed over under token %d, after 4", m.ID, m.Token)
		}
		if m.Attempt != 1 {
			t.Errorf("event %s: attempt %d, want 1: its claim lapsed with others", m.ID, m.Attempt)
		}
	}
}

// What lapsed goes alone, and so after what is in hand: until then a relay must not go past it.
func claimsLapseAmidOthers(t *env) {
	const n = 200
	ids := t.write(events("e", n)...)
	first := t.number(`SELECT MIN(seq) FROM {events}`)
	t.exec(`UPDATE {events} SET created_ms = 1000 + seq, due_ms = 1000 + seq`)
	t.exec(`UPDATE {events} SET claimed_by = ?, claim_token = 1, attempts = 1, total_attempts = 1 WHERE seq >= ? AND seq < ?`, "gone/1", first+5, first+8)
	p := &receiver{answer: func(context.Context, relay.Message) error {
		time.Sleep(time.Millisecond) // longer than a turn, so that there always is something in hand
		return nil
	}}
	opts := quick(relay.OrderNone)
	opts.Batch, opts.Concurrency = 4, 2
	t.drain(t.otherRelay(p, opts))
	got := p.ids()
	sameIDs(t, "handed over", got, ids)
	lapsed := 0
	for i, m := range p.messages() {
		if m.Token == 1 {
			continue
		}
		if lapsed++; i > n/2 {
			t.Errorf("event %s, whose claim lapsed, was handed over after %d others: the others were %q", m.ID, i, got[:i])
		}
	}
	if lapsed != 3 {
		t.Errorf("%d events were claimed again, want 3", lapsed)
	}
}

func claimsLate(t *env) {
	for name, answer := range map[string]error{"published": nil, "failed": errNo, "dead": relay.Permanent(errNo), "unavailable": relay.Unavailable(errNo)} {
		ids := t.write(events("e", 3)...)
		g, h := newGate(), newGate()
		g.answer = func(context.Context, relay.Message) error { return answer }
		a, b := t.otherRelay(g, quick(relay.OrderNone)), t.otherRelay(h, quick(relay.OrderNone))
		doneA := t.pass(a)
		await(t, "the first hands over", g.entered)
		t.expireClaims()
		doneB := t.pass(b)
		await(t, "the second hands over", h.entered)
		second := t.records()
		close(g.open)
		_ = await(t, "the late one is done", doneA)
		after := t.records()
		claimed := slices.IndexFunc(second, func(x record) bool { return x.claimedBy != "" })
		same := claimed >= 0 && slices.ContainsFunc(after, func(x record) bool { return x == second[claimed] })
		if len(second) != 3 || !same {
			t.Errorf("%s: the late outcome changed what another has claimed:%s\nbefore:%s", name, describe(after), describe(second))
		}
		if a.Refused() == 0 && name != "unavailable" { // which says nothing of the event
			t.Errorf("%s: no outcome was counted as refused:%s\nbefore:%s", name, describe(after), describe(second))
		}
		close(h.open)
		if err := await(t, "the second is done", doneB); err != nil {
			t.Error(err)
		}
		t.makeDue()
		t.drain(b)
		if b.Refused() != 0 {
			t.Errorf("%s: %d outcomes of the new claimer were refused", name, b.Refused())
		}
		if got := h.ids(); len(got) == 0 || len(got) > len(ids) {
			t.Errorf("%s: the new claimer handed over %q", name, got)
		}
		t.exec(`DELETE FROM {events}`)
	}
}

func claimsExtended(t *env) {
	t.write(events("e", 2)...)
	g, second := newGate(), &receiver{}
	opts := quick(relay.OrderNone)
	opts.Lease = racing.Slow * 900 * time.Millisecond
	a := t.otherRelay(g, opts)
	done := t.pass(a)
	await(t, "it hands over", g.entered)
	until := t.number(`SELECT MIN(due_ms) FROM {events}`)
	t.eventually("the claim would have lapsed", func() bool { return t.number(readClock) > until })
	if n := t.once(t.otherRelay(second, quick(relay.OrderNone))); n != 0 {
		t.Errorf("another claimed %q meanwhile", second.ids())
	}
	close(g.open)
	if err := await(t, "it is done", done); err != nil {
		t.Error(err)
	}
	if all := t.records(); len(all) != 0 || a.Refused() != 0 {
		t.Errorf("%d refused, left:%s", a.Refused(), describe(all))
	}
}

func claimsConcurrent(t *env) {
	t.write(events("e", 9)...)
	g := newGate()
	opts := quick(relay.OrderNone)
	opts.Concurrency = 4
	done := t.pass(t.otherRelay(g, opts))
	for range 4 {
		await(t, "four are handed over at once", g.entered)
	}
	passes(t, 30*time.Millisecond)
	if n := len(g.entered); n != 0 {
		t.Errorf("%d more than Concurrency are handed over at once", n)
	}
	close(g.open)
	if err := await(t, "it is done", done); err != nil {
		t.Error(err)
	}
}

func claimsOnce(t *env) {
	ids := t.write(events("e", 300)...)
	p := &receiver{}
	opts := quick(relay.OrderNone)
	opts.Batch = 20
	var wg sync.WaitGroup
	share := make([]int, 3)
	for i := range share {
		r := t.otherRelay(p, opts)
		wg.Go(func() {
			n, err := r.Drain(t.ctx())
			if err != nil {
				t.Error(err)
			}
			if r.Refused() != 0 {
				t.Errorf("%d outcomes were refused", r.Refused())
			}
			share[i] = n
		})
	}
	wg.Wait()
	sameIDs(t, "handed over", p.ids(), ids)
	t.Logf("shares %v", share)
}
