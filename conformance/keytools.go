package conformance

import (
	"context"
	"fmt"
	"sync"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// keyed makes n events of a key, with ids key-0, key-1, …
func keyed(key string, n int) []outbox.Event {
	out := events(key, n)
	for i := range out {
		out[i].Key = key
	}
	return out
}

// writeKeys writes n events of each key, taking turns, and answers each key's ids.
func (t *env) writeKeys(n int, keys ...string) map[string][]string {
	t.Helper()
	ids := map[string][]string{}
	var all []outbox.Event
	for i := range n {
		for _, key := range keys {
			e := keyed(key, n)[i]
			all = append(all, e)
			ids[key] = append(ids[key], e.ID)
		}
	}
	t.write(all...)
	return ids
}

// ofKey are the ids of a key's hand-overs, in order.
func (p *receiver) ofKey(key string) []string {
	var ids []string
	for _, m := range p.messages() {
		if m.Key == key {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// oneByOne checks as it happens that no two events of a key are handed over at once.
type oneByOne struct {
	t *env

	mu     sync.Mutex // guards what follows
	inside map[string]string
	most   int
}

func newOneByOne(t *env) *oneByOne { return &oneByOne{t: t, inside: map[string]string{}} }

// enter begins a hand-over; leave ends it.
func (o *oneByOne) enter(m relay.Message) (leave func()) {
	if m.Key == "" {
		return func() {}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if other, busy := o.inside[m.Key]; busy {
		o.t.Errorf("event %s was handed over while %s of the same key was", m.ID, other)
	}
	o.inside[m.Key] = m.ID
	o.most = max(o.most, len(o.inside))
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.inside, m.Key)
	}
}

func (o *oneByOne) mostAtOnce() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.most
}

// failing answers "no" to the events of these ids, for as long as they are there.
type failing struct {
	mu  sync.Mutex // guards ids
	ids map[string]error
}

func fail(err error, ids ...string) *failing {
	f := &failing{ids: map[string]error{}}
	for _, id := range ids {
		f.ids[id] = err
	}
	return f
}

func (f *failing) answer(_ context.Context, m relay.Message) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ids[m.ID]
}

func (f *failing) set(id string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids[id] = err
}

// neighbour is another key in the partition of key.
func neighbour(key string) string {
	for i := 0; ; i++ {
		if other := fmt.Sprintf("%s-%d", key, i); outbox.Partition(other) == outbox.Partition(key) {
			return other
		}
	}
}

func (t *env) requeue(ids ...string) {
	t.Helper()
	if n, err := t.o.Requeue(t.ctx(), ids...); n != len(ids) || err != nil {
		t.Fatalf("requeue %q: %d, %v", ids, n, err)
	}
}

// writeLate begins a transaction with one event and writes another of the same key meanwhile, which commits first. Where
// there is one writer at a time, it answers nil: both are written, one after the other.
func writeLate(t *env, key string) (commit func()) {
	late := t.begin(t.another())
	if _, err := t.o.Write(t.ctx(), late, outbox.Event{ID: "late " + key, Topic: "t", Key: key}); err != nil {
		t.Fatal(err)
	}
	end := func() {
		if err := late.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if t.oneWriter() {
		end()
	}
	t.write(outbox.Event{ID: "early " + key, Topic: "t", Key: key})
	if t.oneWriter() {
		return nil
	}
	return end
}
