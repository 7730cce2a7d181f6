package conformance

import (
	"database/sql"
	"strings"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func feedDense(t *env, order relay.Order) {
	t.turnOn()
	stopPoll := t.poll()
	committed := t.publishedInTrouble(order, func(int) string { return "t" })
	all := t.feed(outbox.Cursor{})
	t.wantDense(all, 1, committed)
	equalIDs(t, "seen by a reader at the same time", feedIDs(stopPoll()), feedIDs(all))
	if order != relay.OrderNone {
		t.wantFeedKeysInOrder(all)
	}
}

// feedOver has a relay publish that is cut off once, and checks the feed that comes of it.
func (t *env) feedOver(order relay.Order, c strike) {
	t.Helper()
	t.space.empty(t.TB)
	ids := t.write(manyKeys("e", 6)...)
	t.publishedThrough(c, order)
	t.wantDense(t.feed(outbox.Cursor{}), 1, ids)
	if head := t.head(); head.Seq != int64(len(ids)) {
		t.Errorf("%s: the head is %v, want %d", c.what, head, len(ids))
	}
}

func isNumbering(query string) bool { return strings.HasPrefix(query, "INSERT INTO outbox_feed") }

func feedCut(t *env, order relay.Order) {
	for name, is := range map[string]func(query string) bool{
		"look for numbers": func(q string) bool {
			return strings.Contains(q, "SELECT seq, feed_seq") && strings.Contains(q, "state = 0")
		},
		"take": func(q string) bool {
			return strings.Contains(q, "SET value = value +") && strings.Contains(q, "'feed'")
		},
		"taken": func(q string) bool {
			return strings.HasPrefix(q, "SELECT name, value") && strings.Contains(q, "'subscriptions'")
		},
		"number": isNumbering,
		"settle": func(q string) bool { return strings.Contains(q, "SET state = 1") },
	} {
		t.feedOver(order, strikeBefore(name, is))
	}
	t.feedOver(order, strikeBeforeCommit(isNumbering))
}

func feedUnheard(t *env, order relay.Order) { t.feedOver(order, strikeAfterCommit(isNumbering)) }

func feedLateOwner(t *env, order relay.Order) {
	ids := t.write(keyed("k", 3)...)
	g := newGate()
	late := t.relayOn(t.feeding(), g, keeping(order))
	done := t.pass(late)
	await(t, "the first relay hands over", g.entered)
	t.fell(order)
	t.runUntilSettled(t.relayOn(t.feeding(), &receiver{}, keeping(order)), 0)
	close(g.open)
	if err := await(t, "the late owner is done", done); err != nil {
		t.Error(err)
	}
	if late.Refused() == 0 {
		t.Error("the late owner's outcomes were not refused")
	}
	t.wantDense(t.feed(outbox.Cursor{}), 1, ids)
	t.publish(outbox.Event{ID: "after", Topic: "t"})
	t.wantDense(t.feed(outbox.Cursor{}), 1, append(ids, "after"))
}

func feedEventGone(t *env, order relay.Order) {
	ids := t.write(keyed("k", 3)...)
	g := newGate()
	done := t.pass(t.relayOn(t.feeding(), g, keeping(order)))
	await(t, "it hands over", g.entered)
	t.exec(`DELETE FROM {events} WHERE id = ?`, ids[1])
	close(g.open)
	if err := await(t, "it is done", done); err != nil {
		t.Error(err)
	}
	t.wantDense(t.feed(outbox.Cursor{}), 1, []string{ids[0], ids[2]})
}

// A has the lower seq, and commits when B has been read.
func feedLateCommit(t *env) {
	t.turnOn()
	r := t.relayOn(t.feeding(), &receiver{}, keeping(relay.OrderTotal))
	var a *sql.Tx
	begin := func() {
		a = t.begin(t.another())
		if _, err := t.o.Write(t.ctx(), a, outbox.Event{ID: "a", Topic: "t", Key: "k"}); err != nil {
			t.Fatal(err)
		}
	}
	if !t.oneWriter() { // or else nobody can write B
		begin()
	}
	t.write(outbox.Event{ID: "b", Topic: "t", Key: "k"})
	t.drain(r)
	read := t.feed(outbox.Cursor{})
	t.wantDense(read, 1, []string{"b"})
	if t.oneWriter() {
		begin()
	}
	if err := a.Commit(); err != nil {
		t.Fatal(err)
	}
	t.drain(r)
	t.wantDense(t.feed(read[0].Cursor), 2, []string{"a"})
}
