package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func feedReads(t *env) {
	e := outbox.Event{ID: "one", Topic: "orders.placed", Key: "k", Payload: []byte("\x00\xff"), Headers: map[string]string{"a": "b"}}
	t.publish(e)
	all := t.feed(outbox.Cursor{})
	t.wantDense(all, 1, []string{"one"})
	got := all[0]
	if got.Event.Topic != e.Topic || got.Event.Key != e.Key || string(got.Event.Payload) != string(e.Payload) || !maps.Equal(got.Event.Headers, e.Headers) {
		t.Errorf("got %+v, want %+v", got.Event, e)
	}
	now, err := t.o.Clock(t.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if got.Seq != t.record("one").seq || now.Sub(got.CreatedAt).Abs() > time.Minute || got.PublishedAt.Before(got.CreatedAt) || now.Sub(got.PublishedAt).Abs() > time.Minute {
		t.Errorf("got %+v at %v", got, now)
	}
	if n := t.number(`SELECT feed_seq FROM {events}`); n != 1 {
		t.Errorf("the event's row says %d", n)
	}
	if c, err := outbox.ParseCursor(got.Cursor.String()); c != got.Cursor || err != nil {
		t.Errorf("%v is parsed as %v, %v", got.Cursor, c, err)
	}
}

func feedTopics(t *env) {
	var list []outbox.Event
	for i := range 30 {
		list = append(list, outbox.Event{ID: fmt.Sprint(i), Topic: fmt.Sprintf("t%d.x", i%3)})
	}
	t.publish(list...)
	f := t.o.Feed()
	page, next, err := f.Read(t.ctx(), outbox.Cursor{}, 4, "t1.*", "other")
	if err != nil {
		t.Fatal(err)
	}
	equalIDs(t, "the first page", feedIDs(page), []string{"1", "4", "7", "10"})
	if next.Seq != 13 { // what lies before the next that matches is looked at
		t.Errorf("the next page begins at %v, want 13", next)
	}
	page, next, err = f.Read(t.ctx(), next, 100, "t1.*")
	if err != nil || next != t.head() {
		t.Errorf("the next page begins at %v, %v", next, err)
	}
	equalIDs(t, "the second page", feedIDs(page), []string{"13", "16", "19", "22", "25", "28"})
	page, next, err = f.Read(t.ctx(), outbox.Cursor{}, 1, "nothing.*")
	if len(page) != 0 || err != nil || next != t.head() {
		t.Errorf("nothing matches: %d events, next %v, %v", len(page), next, err)
	}
	for _, bad := range [][]string{{""}, {"a*"}, {"t1.*", "**"}} {
		if _, _, err := f.Read(t.ctx(), outbox.Cursor{}, 1, bad...); !errors.Is(err, outbox.ErrInvalidOptions) {
			t.Errorf("topics %q: %v", bad, err)
		}
	}
	for _, bad := range []int{-1, 501} {
		if _, _, err := f.Read(t.ctx(), outbox.Cursor{}, bad); !errors.Is(err, outbox.ErrInvalidOptions) {
			t.Errorf("limit %d: %v", bad, err)
		}
	}
}

func feedFollows(t *env) {
	want := t.publish(events("before", 150)...)
	o := t.outboxOn(t.another(), &outbox.Options{Feed: true, FeedPoll: time.Hour}) // it is told, or it gets nothing
	stop := t.start(t.relayOn(o, &receiver{}, keeping(relay.OrderTotal)))
	ctx, cancel := context.WithCancel(t.ctx())
	got := make(chan string, 1000)
	ended := make(chan error, 1)
	go func() {
		for e, err := range o.Feed().Follow(ctx, outbox.Cursor{}) {
			if err != nil {
				ended <- err
				return
			}
			got <- e.Event.ID
		}
		ended <- nil
	}()
	next := func(ids []string) {
		for _, id := range ids {
			if g := await(t, "an event follows", got); g != id {
				t.Fatalf("got %q, want %q", g, id)
			}
		}
	}
	next(want)
	for i := range 3 {
		next(t.write(events(fmt.Sprint("new", i), 2)...))
	}
	cancel()
	if err := await(t, "the follower ends", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	t.mustStop(stop)
	for e, err := range o.Feed().Follow(t.ctx(), outbox.Cursor{Epoch: t.head().Epoch, Seq: 1e9}) {
		if !errors.Is(err, outbox.ErrAhead) {
			t.Fatalf("got %v, %v", e, err)
		}
	}
}

func feedCopied(t *env) {
	ids := t.publish(events("e", 12)...)
	at := t.feed(outbox.Cursor{})[4].Cursor
	if err := t.o.Feed().Register(t.ctx(), "reader", at, time.Hour); err != nil {
		t.Fatal(err)
	}
	to := newSpace(t.TB, t.h)
	for _, table := range []string{"events", "feed", "counters", "cursors"} {
		t.copyTable(to, table)
	}
	o, err := outbox.New(to.db, t.dialect(), nil)
	if err != nil {
		t.Fatal(err)
	}
	there := &env{TB: t.TB, space: to, o: o}
	if mend, err := t.dialect().SeqBehind(t.ctx(), to.db, o.Table("events")); err != nil {
		t.Fatal(err)
	} else if mend != "" {
		there.exec(mend)
	}
	ids = append(ids, there.publish(outbox.Event{ID: "after", Topic: "t"})...)
	there.wantDense(there.feed(outbox.Cursor{}), 1, ids)
	if c, err := o.Feed().Position(t.ctx(), "reader"); c != at || err != nil {
		t.Errorf("the cursor is at %v, %v; want %v", c, err, at)
	}
	there.wantDense(there.feed(at), 6, ids[5:])
	// The counter may have been dumped before the rest, or not at all.
	there.exec(`UPDATE {counters} SET value = 5 WHERE name = 'feed'`)
	ids = append(ids, there.publish(outbox.Event{ID: "after an old counter", Topic: "t"})...)
	there.exec(`DELETE FROM {counters} WHERE name = 'feed'`)
	ids = append(ids, there.publish(outbox.Event{ID: "after no counter", Topic: "t"})...)
	there.wantDense(there.feed(outbox.Cursor{}), 1, ids)
}

// copyTable copies a table by plain INSERTs.
func (t *env) copyTable(to *space, table string) {
	t.Helper()
	found, err := t.db.QueryContext(t.ctx(), t.sql.SQL("SELECT * FROM {"+table+"}"))
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	names, err := found.Columns()
	if err != nil {
		t.Fatal(err)
	}
	columns, marks := "", ""
	for _, name := range names {
		columns, marks = columns+", "+name, marks+", ?"
	}
	values, dest := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		dest[i] = &values[i]
	}
	for found.Next() {
		if err := found.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		for i := range values {
			if b, ok := values[i].([]byte); values[i] == nil || ok && b == nil {
				values[i] = []byte{} // no column has NULL, but a driver may show no bytes as that
			}
		}
		text := to.sql.SQL("INSERT INTO {" + table + "} (" + columns[2:] + ") VALUES (" + marks[2:] + ")")
		if _, err := to.db.ExecContext(t.ctx(), text, values...); err != nil {
			t.Fatalf("copy %s: %v", table, err)
		}
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
}
