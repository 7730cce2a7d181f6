package conformance

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// A restore by plain INSERTs brings rows back under the numbers that they had. Where a sequence gives the numbers, it
// knows nothing of them.
func restoreRules() []rule {
	return []rule{
		{"a number that is taken is not a taken id", restoreCollides},
		{"what passes the start-up check numbers new events past all that are there", restoreChecked},
		{"after a copy of what was purged new events are numbered above all that is remembered", restorePurged},
		{"each table that remembers an event's number is looked at", restoreRemembered},
		{"writers at work are no numbering that is behind", restoreQuiet},
	}
}

// restore inserts n events under the numbers that begin ahead past the highest, and answers the last of them.
func (t *env) restore(ahead, n int64) (last int64) {
	t.Helper()
	t.write(outbox.Event{ID: "before", Topic: "t"})
	last = t.record("before").seq + ahead - 1
	for i := range n {
		last++
		t.exec(`INSERT INTO {events} (seq, id, topic, payload) VALUES (?, ?, ?, ?)`, last, fmt.Sprintf("restored-%d", i), "t", []byte{})
	}
	return last
}

// An event that was not written must not be reported as one that is there already, or as written.
func restoreCollides(t *env) {
	t.restore(1, 4)
	outboxes := []*outbox.Outbox{t.o, t.outboxOn(t.db, &outbox.Options{IgnoreDuplicates: true})}
	for i := range 6 {
		id := fmt.Sprintf("new-%d", i)
		_, err := t.tryWrite(outboxes[i%2], outbox.Event{ID: id, Topic: "t"})
		there := t.number(`SELECT COUNT(*) FROM {events} WHERE id = ?`, id) == 1
		switch {
		case (err == nil) != there:
			t.Errorf("%s: write answers %v, and in the table: %v", id, err, there)
		case err != nil && (!errors.Is(err, outbox.ErrSequenceBehind) || errors.Is(err, outbox.ErrDuplicate)):
			t.Errorf("%s: got %v, want outbox.ErrSequenceBehind", id, err)
		}
	}
	// What is there is still known as that.
	if _, err := t.tryWrite(t.o, outbox.Event{ID: "restored-1", Topic: "t"}); !errors.Is(err, outbox.ErrDuplicate) {
		t.Errorf("an id that is taken: got %v, want outbox.ErrDuplicate", err)
	}
	t.write(outbox.Event{ID: "after", Topic: "t"})
}

func restoreChecked(t *env) {
	for _, ahead := range []int64{1, 1000} { // in the way of the next event, and past it
		t.exec(`DELETE FROM {events}`)
		last := t.restore(ahead, 3)
		mend, err := t.dialect().SeqBehind(t.ctx(), t.db, t.o.Table("events"))
		if err != nil {
			t.Fatal(err)
		}
		switch err := t.o.Check(t.ctx()); {
		case mend == "" && err != nil:
			t.Errorf("the outbox's Check: %v", err)
		case mend != "":
			if !errors.Is(err, outbox.ErrSequenceBehind) || !strings.Contains(err.Error(), mend) {
				t.Errorf("got %v, want outbox.ErrSequenceBehind and %s", err, mend)
			}
			t.exec(mend)
			if err := t.o.Check(t.ctx()); err != nil {
				t.Errorf("after %s: %v", mend, err)
			}
		}
		t.write(outbox.Event{ID: "after", Topic: "t"})
		if seq := t.record("after").seq; seq <= last {
			t.Errorf("a new event has seq %d, after one with %d was restored", seq, last)
		}
	}
}

// mendNumbering runs what the start-up check answers, if it does, and answers whether that was so.
func (t *env) mendNumbering(what string) bool {
	t.Helper()
	err := t.o.Check(t.ctx())
	if err == nil {
		return false
	}
	_, mend, ok := strings.Cut(err.Error(), ": run ")
	if !errors.Is(err, outbox.ErrSequenceBehind) || !ok {
		t.Fatalf("%s: the outbox's Check: %v", what, err)
	}
	t.exec(mend)
	if err := t.o.Check(t.ctx()); err != nil {
		t.Errorf("%s: after %s: %v", what, mend, err)
	}
	return true
}

// The tables of a database where all was published and purged, copied by plain INSERTs: numbers stand in other tables only.
func restorePurged(t *env) {
	if _, ok := t.dialect().(dialect.SeqBelower); !ok {
		t.Skip("the dialect's numbering can't be compared with a floor")
	}
	c := t.crew()
	announce := func(t *env) *relay.Relay {
		one, late := c.one("one", nil), c.one("late", nil)
		late.From = relay.FromNow
		r := c.with(t.feeding(), keeping(relay.OrderTotal), nil, one, late)
		t.drain(r)
		return r
	}
	t.write(events("before", 5)...)
	t.drain(c.with(t.feeding(), keeping(relay.OrderTotal), nil, c.one("one", nil)))
	highest := t.number(`SELECT MAX(seq) FROM {events}`)
	announce(t) // the second begins behind what is there
	if n := t.purgeAll(); n != 5 {
		t.Fatalf("%d purged, want 5", n)
	}
	there := &env{TB: t.TB, space: newSpace(t.TB, t.h)}
	there.o = there.outboxOn(there.db, nil)
	for _, table := range []string{"events", "held", "pauses", "counters", "handlers", "deliveries", "feed", "cursors", "subscriptions", "webhook_deliveries"} {
		t.copyTable(there.space, table)
	}
	there.mendNumbering("copied")
	c.t = there
	there.write(outbox.Event{ID: "after", Topic: "conformance"})
	if seq := there.record("after").seq; seq <= highest {
		t.Errorf("a new event has seq %d, and %d was given before", seq, highest)
	}
	announce(there)
	c.wantCalls("after the copy", map[string]int{"one": 6, "late": 1})
}

func restoreRemembered(t *env) {
	if _, ok := t.dialect().(dialect.SeqBelower); !ok {
		t.Skip("the dialect's numbering can't be compared with a floor")
	}
	t.exec(`INSERT INTO {subscriptions} (id, name) VALUES (7, 's')`)
	number := func(seq int64) any { return seq }
	for i, c := range []struct {
		what, remembers string
		as              func(seq int64) any
	}{
		{"a handler's beginning", `INSERT INTO {handlers} (name, from_seq, topics) VALUES ('h', ? + 1, '[]')`, number},
		{"a handler's topic", `INSERT INTO {handlers} (name, from_seq, topics) VALUES ('t', 0, ?)`, func(seq int64) any {
			return fmt.Appendf(nil, `[{"topic":"t","from":%d}]`, seq+1)
		}},
		{"a record of a handler", `INSERT INTO {deliveries} (seq, handler) VALUES (?, 'h')`, number},
		{"a place in the feed", `INSERT INTO {feed} (feed_seq, seq, published_ms) VALUES (1, ?, 1)`, number},
		{"an event that a webhook is owed", `INSERT INTO {webhook_deliveries} (subscription_id, feed_seq, seq) VALUES (7, 1, ?)`, number},
		{"what holds a key", `INSERT INTO {held} (seq, event_key, partition_no) VALUES (?, 'k', 1)`, number},
		{"what is in hand", `INSERT INTO {relays} (id, in_hand) VALUES ('r', ?)`, func(seq int64) any {
			return fmt.Sprintf(`{"batch":"%d-%d"}`, seq-9, seq)
		}},
	} {
		id := fmt.Sprint(i)
		t.write(outbox.Event{ID: "before " + id, Topic: "t"})
		if t.mendNumbering(c.what) {
			t.Errorf("%s: it is called behind where it is not", c.what)
		}
		top := t.record("before "+id).seq + 1000
		t.exec(`DELETE FROM {events}`)
		t.exec(c.remembers, c.as(top))
		if !t.mendNumbering(c.what) {
			t.Errorf("%s: a number that is to be given again was not seen", c.what)
		}
		t.write(outbox.Event{ID: id, Topic: "t"})
		if seq := t.record(id).seq; seq != top+1 {
			t.Errorf("%s: a new event has seq %d, and %d is remembered", c.what, seq, top)
		}
	}
	for _, table := range []string{"handlers", "deliveries", "feed", "held", "relays", "webhook_deliveries", "subscriptions"} {
		t.exec(`DELETE FROM {` + table + `}`)
	}
}

// The check reads the rows and the numbering one after the other, and a false alarm would keep a relay from starting.
func restoreQuiet(t *env) {
	check := func() {
		if err := t.o.Check(t.ctx()); err != nil {
			t.Errorf("the outbox's Check: %v", err)
		}
	}
	check()
	stop := make(chan struct{})
	var checker sync.WaitGroup
	checker.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				check()
			}
		}
	})
	t.together(3, func(i int, o *outbox.Outbox) error {
		for n := range 10 {
			if _, err := t.tryWrite(o, events(fmt.Sprintf("w%d-%d", i, n), 2)...); err != nil {
				return err
			}
		}
		return nil
	})
	close(stop)
	checker.Wait()
	check()
	t.exec(`DELETE FROM {events}`)
	check()
}
