package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func keyRules() []rule {
	return []rule{
		{"the events of a key come one at a time and in the order of insertion", keysInOrder},
		{"different keys go side by side", keysSideBySide},
		{"a failing event holds its key only", keyHolds},
		{"a failed event comes again before what is behind it", keyRetried},
		{"what stands behind a failing key hides no other key", keyMountain},
		{"a key in the partition of a mountain keeps its order, whatever its rows say", keyBesideMountain},
		{"several events that fail hold their key until the first is through", keySeveral},
		{"an event of a key that committed late is found", keyLate},
		{"an event that committed late is not behind a newer one that failed", keyLateBeforeFailed},
		{"events without a key have no order", keyEmpty},
		{"an unavailable destination keeps a key's order", keyUnavailable},
		{"a batch holds one event of a key", keyBatch},
		{"with BatchInOrder a batch may hold several events of a key, in order", keyBatchInOrder},
		{"rows without a partition, or with a wrong one, are in order with their key", keyPartitions},
		{"what commits while a relay reads is in order with its key", keyCommitsInTurn},
		{"a row that gets its partition while a relay reads is handed over once", keyPlacedInTurn},
		{"a look that is cut at its bytes keeps the order of a key", keyCutAtBytes},
		{"a row whose partition is out of range is found by a relay that runs", keyMisfit},
	}
}

func keysInOrder(t *env) {
	var keys []string
	for i := range 12 {
		keys = append(keys, fmt.Sprintf("k%d", i))
	}
	ids := t.writeKeys(15, keys...)
	o := newOneByOne(t)
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		defer o.enter(m)()
		time.Sleep(rand.N(2 * time.Millisecond))
		return nil
	}}
	opts := quick(relay.OrderPerKey)
	opts.Concurrency, opts.Batch = 8, 20
	if n := t.drain(t.otherRelay(p, opts)); n != 180 {
		t.Errorf("%d published, want 180", n)
	}
	for _, key := range keys {
		equalIDs(t, key, p.ofKey(key), ids[key])
	}
	if most := o.mostAtOnce(); most > 8 {
		t.Errorf("%d hand-overs at once, with a Concurrency of 8", most)
	}
}

var (
	inAnHour  = relay.RetryAfter(time.Hour, errNo)
	permanent = relay.Permanent(errNo)
)

func keyHolds(t *env) {
	ids := t.writeKeys(4, "a", "b", "c")
	f := fail(inAnHour, "a-1")
	p := &receiver{answer: f.answer}
	r := t.otherRelay(p, quick(relay.OrderPerKey))
	t.drain(r)
	t.write(outbox.Event{ID: "a-4", Topic: "t", Key: "a"})
	t.drain(r)
	equalIDs(t, "a", p.ofKey("a"), ids["a"][:2])
	equalIDs(t, "b", p.ofKey("b"), ids["b"])
	equalIDs(t, "c", p.ofKey("c"), ids["c"])
	for id, state := range map[string]int64{"a-1": waiting, "a-2": behind, "a-3": behind, "a-4": behind} {
		if x := t.record(id); x.state != state {
			t.Errorf("want state %d:%s", state, describe([]record{x}))
		}
	}
	f.set("a-1", nil)
	t.makeDue()
	t.drain(r)
	equalIDs(t, "a", p.ofKey("a"), []string{"a-0", "a-1", "a-1", "a-2", "a-3", "a-4"})
	if all := t.records(); len(all) != 0 {
		t.Errorf("left:%s", describe(all))
	}
}

func keyRetried(t *env) {
	t.writeKeys(3, "a", "b")
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		if m.ID == "a-0" && m.Attempt < 4 {
			return relay.RetryAfter(0, errNo)
		}
		return nil
	}}
	t.drain(t.otherRelay(p, quick(relay.OrderPerKey)))
	equalIDs(t, "a", p.ofKey("a"), []string{"a-0", "a-0", "a-0", "a-0", "a-1", "a-2"})
	equalIDs(t, "b", p.ofKey("b"), []string{"b-0", "b-1", "b-2"})
	for i, m := range p.of("a-0") {
		if m.Attempt != i+1 {
			t.Errorf("hand-over %d says attempt %d", i+1, m.Attempt)
		}
	}
}

func keyMountain(t *env) {
	mountain := t.write(keyed("mountain", 150)...)
	other := t.write(keyed("other", 3)...)
	f := fail(inAnHour, mountain[0])
	p := &receiver{answer: f.answer}
	opts := quick(relay.OrderPerKey)
	opts.Batch = 5
	r := t.otherRelay(p, opts)
	t.drain(r)
	equalIDs(t, "the mountain", p.ofKey("mountain"), mountain[:1])
	equalIDs(t, "the other key", p.ofKey("other"), other)
	f.set(mountain[0], nil)
	t.makeDue()
	t.drain(r)
	equalIDs(t, "the mountain", p.ofKey("mountain"), append(mountain[:1:1], mountain...))
}

func keyBesideMountain(t *env) {
	mountain := t.write(keyed("mountain", 150)...)
	key := neighbour("mountain")
	var want []string
	for i := range 12 {
		want = append(want, t.write(outbox.Event{ID: fmt.Sprint("written-", i), Topic: "t", Key: key}, outbox.Event{ID: fmt.Sprint("also-", i), Topic: "t", Key: key})...)
		id := fmt.Sprint("plain-", i)
		t.exec(insertPart, id, "t", key, []byte{}, -1)
		want = append(want, id)
	}
	f := fail(inAnHour, mountain[0])
	p := &receiver{answer: f.answer}
	opts := quick(relay.OrderPerKey)
	opts.Batch = 5
	r := t.otherRelay(p, opts)
	t.drain(r)
	equalIDs(t, "the key beside the mountain", p.ofKey(key), want)
	f.set(mountain[0], nil)
	t.makeDue()
	t.drain(r)
	equalIDs(t, "the mountain", p.ofKey("mountain"), append(mountain[:1:1], mountain...))
}

// The older one was requeued, and fails while a newer one waits for its next try.
func keySeveral(t *env) {
	t.writeKeys(4, "a")
	f := fail(permanent, "a-0")
	f.set("a-1", inAnHour)
	p := &receiver{answer: f.answer}
	r := t.otherRelay(p, quick(relay.OrderPerKey))
	t.drain(r)
	f.set("a-0", inAnHour)
	t.requeue("a-0")
	t.drain(r)
	want := []string{"a-0", "a-1", "a-0"}
	equalIDs(t, "a", p.ofKey("a"), want)
	// The newer one's time comes first.
	f.set("a-1", nil)
	t.exec(`UPDATE {events} SET due_ms = 1 WHERE id = ?`, "a-1")
	t.drain(r)
	equalIDs(t, "while the older one waits", p.ofKey("a"), want)
	f.set("a-0", nil)
	t.makeDue()
	t.drain(r)
	equalIDs(t, "a", p.ofKey("a"), append(want, "a-0", "a-1", "a-2", "a-3"))
	if n := t.number(`SELECT COUNT(*) FROM {held}`); n != 0 {
		t.Errorf("%d events hold their key, and all are through", n)
	}
}

const insertPart = `INSERT INTO {events} (id, topic, event_key, payload, partition_no) VALUES (?, ?, ?, ?, ?)`
