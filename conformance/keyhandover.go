package conformance

import (
	"context"
	"slices"
	"sync"

	"github.com/sqloutbox/sqloutbox/relay"
)

func keysSideBySide(t *env) {
	ids := t.writeKeys(2, "a", "b")
	g := newGate()
	done := t.pass(t.otherRelay(g, quick(relay.OrderPerKey)))
	one, two := await(t, "the first key's hand-over", g.entered), await(t, "the other key's beside it", g.entered)
	if one.Key == two.Key {
		t.Errorf("%s and %s of one key are handed over at once", one.ID, two.ID)
	}
	close(g.open)
	if err := await(t, "it is done", done); err != nil {
		t.Error(err)
	}
	for key := range ids {
		equalIDs(t, key, g.ofKey(key), ids[key])
	}
}

// The first is in the middle of its hand-over while the others are handed over, fail, and are published.
func keyEmpty(t *env) {
	ids := t.write(events("e", 30)...)
	open := make(chan struct{})
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		switch m.ID {
		case ids[0]:
			<-open
		case ids[1]:
			return inAnHour
		case ids[2]:
			return permanent
		}
		return nil
	}}
	opts := quick(relay.OrderPerKey)
	opts.OnDead = relay.HoldKey
	stop := t.start(t.otherRelay(p, opts))
	t.eventually("all others are handed over", func() bool { return len(p.ids()) == len(ids) })
	close(open)
	t.mustStop(stop)
	sameIDs(t, "handed over", p.ids(), ids)
	if n := t.number(`SELECT COUNT(*) FROM {held}`); n != 0 {
		t.Errorf("%d events without a key hold it", n)
	}
}

func keyUnavailable(t *env) {
	ids := t.writeKeys(6, "a", "b", "c")
	away := true
	var mu sync.Mutex
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		mu.Lock()
		defer mu.Unlock()
		if away && m.ID != "b-0" {
			return relay.Unavailable(errNo)
		}
		return nil
	}}
	opts := quick(relay.OrderPerKey)
	opts.MaxAttempts = 2
	r := t.otherRelay(p, opts)
	for range 4 {
		if _, err := r.Drain(t.ctx()); err == nil {
			t.Error("drain: no error, though the destination is away")
		}
	}
	for _, x := range t.records() {
		if x.state != pending || x.attempts != 0 || x.total != 0 {
			t.Errorf("an event was charged:%s", describe([]record{x}))
		}
	}
	mu.Lock()
	away = false
	mu.Unlock()
	left := map[string]int{}
	for _, x := range t.records() {
		left[x.id[:1]]++
	}
	t.drain(r)
	for key, all := range ids {
		got := p.ofKey(key)
		equalIDs(t, key, got[len(got)-left[key]:], all[len(all)-left[key]:])
		if key != "b" && left[key] != len(all) {
			t.Errorf("%d events of %s are left", left[key], key)
		}
	}
}

func keyBatch(t *env) {
	ids := t.writeKeys(6, "a", "b", "c")
	b := &batcher{batch: func(ms []relay.Message) []error {
		seen := map[string]bool{}
		for _, m := range ms {
			if seen[m.Key] {
				t.Errorf("a call holds two events of key %s", m.Key)
			}
			seen[m.Key] = true
		}
		return allNil(ms)
	}}
	t.drain(t.otherRelay(b, quick(relay.OrderPerKey)))
	for key := range ids {
		equalIDs(t, key, b.ofKey(key), ids[key])
	}
}

func keyBatchInOrder(t *env) {
	ids := t.writeKeys(5, "a", "b")
	several := false
	b := &batcher{batch: func(ms []relay.Message) []error {
		errs := allNil(ms)
		failed := map[string]bool{}
		count := map[string]int{}
		for i, m := range ms {
			count[m.Key]++
			several = several || count[m.Key] > 1
			if failed[m.Key] || m.ID == "a-2" && m.Attempt == 1 {
				failed[m.Key] = true
				errs[i] = inAnHour
			}
		}
		return errs
	}}
	opts := quick(relay.OrderPerKey)
	opts.BatchInOrder, opts.Concurrency = true, 1
	r := t.otherRelay(b, opts)
	t.drain(r)
	if !several {
		t.Error("no call held several events of a key")
	}
	equalIDs(t, "b", b.ofKey("b"), ids["b"])
	for id, attempts := range map[string]int64{"a-2": 1, "a-3": 0, "a-4": 0} {
		if x := t.record(id); x.attempts != attempts {
			t.Errorf("want %d attempts:%s", attempts, describe([]record{x}))
		}
	}
	t.makeDue()
	t.drain(r)
	if got := b.ofKey("a"); !slices.Equal(got[len(got)-3:], ids["a"][2:]) {
		t.Errorf("a: %q, want the last three after the failure once more", got)
	}
	if all := t.records(); len(all) != 0 {
		t.Errorf("left:%s", describe(all))
	}
}
