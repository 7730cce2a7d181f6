package conformance

import (
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// What holds a key: dead letters and paused topics.
func keyHoldRules() []rule {
	return []rule{
		{"a dead letter of a key lets what is behind it flow", keySkips},
		{"a requeued event comes before anything newer of its key", keyRequeued},
		{"with HoldKey a dead letter holds its key until it is requeued", keyHeldRequeued},
		{"with HoldKey a dead letter holds its key until it is discarded", keyHeldDiscarded},
		{"with HoldKey a key stays held when its relay is another", keyHeldRestart},
		{"with HoldKey a dead letter that was there before holds its key", keyHeldBefore},
		{"without HoldKey what a dead letter held flows", keyHeldNoMore},
		{"a paused topic holds its keys, and they go on in order when it is resumed", keyPaused},
		{"a paused event holds its key, whichever order has put it aside", keyPausedBefore},
		{"when everything is paused nothing is handed over, and all goes on in order", keyAllPaused},
	}
}

func keySkips(t *env) {
	ids := t.writeKeys(4, "a", "b")
	p := &receiver{answer: fail(permanent, "a-1").answer}
	t.drain(t.otherRelay(p, quick(relay.OrderPerKey)))
	equalIDs(t, "a", p.ofKey("a"), ids["a"])
	equalIDs(t, "b", p.ofKey("b"), ids["b"])
	equalIDs(t, "dead letters", t.deadIDs(outbox.DeadLetterQuery{}), []string{"a-1"})
}

func keyRequeued(t *env) {
	t.writeKeys(3, "a")
	f := fail(permanent, "a-1")
	p := &receiver{answer: f.answer}
	r := t.otherRelay(p, quick(relay.OrderPerKey))
	t.drain(r)
	f.set("a-1", nil)
	t.write(keyed("a", 6)[3:]...)
	t.requeue("a-1")
	t.drain(r)
	equalIDs(t, "a", p.ofKey("a"), []string{"a-0", "a-1", "a-2", "a-1", "a-3", "a-4", "a-5"})
	for _, m := range p.messages()[3:] {
		if again := m.ID == "a-1"; m.Requeued != again || m.Attempt != 1 {
			t.Errorf("event %s says requeued %v, attempt %d", m.ID, m.Requeued, m.Attempt)
		}
	}
}

func holdingKeys() *relay.Options {
	opts := quick(relay.OrderPerKey)
	opts.OnDead = relay.HoldKey
	return opts
}

// keyHeld leaves key a held by a dead letter.
func keyHeld(t *env) (f *failing, p *receiver, r *relay.Relay) {
	ids := t.writeKeys(4, "a", "b")
	f = fail(permanent, "a-1")
	p = &receiver{answer: f.answer}
	r = t.otherRelay(p, holdingKeys())
	for range 2 {
		t.drain(r)
	}
	t.write(outbox.Event{ID: "a-4", Topic: "t", Key: "a"})
	t.drain(r)
	equalIDs(t, "a", p.ofKey("a"), ids["a"][:2])
	equalIDs(t, "b", p.ofKey("b"), ids["b"])
	f.set("a-1", nil)
	return f, p, r
}

func keyHeldRequeued(t *env) {
	_, p, r := keyHeld(t)
	t.requeue("a-1")
	t.drain(r)
	equalIDs(t, "a", p.ofKey("a"), []string{"a-0", "a-1", "a-1", "a-2", "a-3", "a-4"})
}

func (t *env) discard(ids ...string) {
	t.Helper()
	if n, err := t.o.Discard(t.ctx(), ids...); n != len(ids) || err != nil {
		t.Fatalf("discard %q: %d, %v", ids, n, err)
	}
}

func keyHeldDiscarded(t *env) {
	_, p, r := keyHeld(t)
	t.discard("a-1")
	t.drain(r)
	equalIDs(t, "a", p.ofKey("a"), []string{"a-0", "a-1", "a-2", "a-3", "a-4"})
}

func keyHeldRestart(t *env) {
	_, p, _ := keyHeld(t)
	second := t.otherRelay(p, holdingKeys())
	t.write(keyed("a", 6)[5])
	t.drain(second)
	equalIDs(t, "a, after a restart", p.ofKey("a"), []string{"a-0", "a-1"})
	t.requeue("a-1")
	third := t.otherRelay(p, holdingKeys())
	t.drain(third)
	equalIDs(t, "a", p.ofKey("a"), []string{"a-0", "a-1", "a-1", "a-2", "a-3", "a-4", "a-5"})
}

// A relay that skips dead letters made it, and one that does not comes after.
func keyHeldBefore(t *env) {
	for name, free := range map[string]func(ids ...string){"requeued": t.requeue, "discarded": t.discard} {
		id := name + "-0"
		f := fail(permanent, id)
		p := &receiver{answer: f.answer}
		t.writeKeys(2, name)
		t.drain(t.otherRelay(p, quick(relay.OrderPerKey)))
		t.write(keyed(name, 4)[2:]...)
		r := t.otherRelay(p, holdingKeys())
		t.drain(r)
		equalIDs(t, name+": held by what died before", p.ids(), []string{id, name + "-1"})
		f.set(id, nil)
		free(id)
		t.drain(r)
		want := []string{id, name + "-1", id, name + "-2", name + "-3"}
		if name == "discarded" {
			want = []string{id, name + "-1", name + "-2", name + "-3"}
		}
		equalIDs(t, name, p.ids(), want)
	}
}

func keyHeldNoMore(t *env) {
	_, p, _ := keyHeld(t)
	t.drain(t.otherRelay(p, quick(relay.OrderPerKey)))
	equalIDs(t, "a", p.ofKey("a"), []string{"a-0", "a-1", "a-2", "a-3", "a-4"})
	if n := t.number(`SELECT COUNT(*) FROM {held}`); n != 0 {
		t.Errorf("%d events hold their key", n)
	}
}

func keyPaused(t *env) {
	list := keyed("a", 5)
	list[1].Topic, list[3].Topic = "paused", "paused"
	t.write(append(list, keyed("b", 3)...)...)
	t.pause("paused")
	p := &receiver{}
	r := t.otherRelay(p, quick(relay.OrderPerKey))
	t.drain(r) // ends, though events are left
	equalIDs(t, "a", p.ofKey("a"), []string{"a-0"})
	equalIDs(t, "b", p.ofKey("b"), []string{"b-0", "b-1", "b-2"})
	if x := t.record("a-1"); x.state != paused {
		t.Errorf("want it paused:%s", describe([]record{x}))
	}
	t.write(outbox.Event{ID: "a-5", Topic: "t", Key: "a"})
	t.drain(r)
	equalIDs(t, "a", p.ofKey("a"), []string{"a-0"})
	t.resume("paused")
	t.drain(r)
	equalIDs(t, "a", p.ofKey("a"), []string{"a-0", "a-1", "a-2", "a-3", "a-4", "a-5"})
	if n := t.number(`SELECT COUNT(*) FROM {held}`); n != 0 {
		t.Errorf("%d events hold their key", n)
	}
}

func keyPausedBefore(t *env) {
	list := keyed("a", 3)
	list[1].Topic = "paused"
	t.write(list...)
	t.pause("paused")
	p := &receiver{}
	for _, order := range []relay.Order{relay.OrderPerKey, relay.OrderNone} {
		t.drain(t.otherRelay(p, quick(order)))
	}
	sameIDs(t, "handed over", p.ids(), []string{"a-0", "a-2"})
	t.write(keyed("a", 5)[3:]...)
	p = &receiver{}
	r := t.otherRelay(p, quick(relay.OrderPerKey))
	t.drain(r)
	equalIDs(t, "behind the paused one", p.ids(), nil)
	t.resume("paused")
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), []string{"a-1", "a-3", "a-4"})
}

func keyAllPaused(t *env) {
	ids := t.writeKeys(3, "a", "b")
	t.pause(outbox.AllTopics)
	p := &receiver{}
	r := t.otherRelay(p, quick(relay.OrderPerKey))
	if n := t.drain(r) + t.once(r); n != 0 {
		t.Errorf("%d were published", n)
	}
	t.resume(outbox.AllTopics)
	t.drain(r)
	for key := range ids {
		equalIDs(t, key, p.ofKey(key), ids[key])
	}
}
