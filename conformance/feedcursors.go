package conformance

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// purgeAll purges what was published, which is old by then.
func (t *env) purgeAll() int {
	t.Helper()
	t.exec(`UPDATE {feed} SET published_ms = 1`)
	t.exec(`UPDATE {events} SET due_ms = 1, settled_ms = 1 WHERE state = 1`)
	n, err := t.o.Purge(t.ctx(), outbox.PurgeOptions{Published: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func feedPurgedAll(t *env) {
	t.publish(events("before", 7)...)
	before := t.head()
	if n := t.purgeAll(); n != 7 || len(t.records()) != 0 {
		t.Errorf("%d purged, want 7; left:%s", n, describe(t.records()))
	}
	if c, err := t.o.Feed().Oldest(t.ctx()); c != before || err != nil {
		t.Errorf("the oldest is %v, %v; want %v", c, err, before)
	}
	t.wantDense(t.feed(before), 8, nil)
	t.publish(events("after", 2)...)
	t.wantDense(t.feed(before), 8, []string{"after-0", "after-1"})
	t.exec(`DELETE FROM {events}`) // with their places, as an operator may who empties the tables
	t.exec(`DELETE FROM {feed}`)
	t.publish(outbox.Event{ID: "last", Topic: "t"})
	t.wantDense(t.feed(outbox.Cursor{Epoch: before.Epoch, Seq: 9}), 10, []string{"last"})
}

// As after a restore of some tables from a backup. A number that is given again is a delivery that is there already, or one that a
// reader has gone past.
func feedCounterBehind(t *env) {
	t.publish(events("e", 3)...)
	t.exec(`INSERT INTO {subscriptions} (id, name, state) VALUES (7, 's', 1), (8, 't', 1)`)
	for i, remembers := range []string{
		`INSERT INTO {feed} (feed_seq, seq, published_ms) VALUES (?, 0, 1)`,
		`INSERT INTO {webhook_deliveries} (subscription_id, feed_seq, seq, state) VALUES (7, ?, 1, 1)`,
		`INSERT INTO {cursors} (name, feed_seq) VALUES ('c', ?)`,
	} {
		top := int64(1000 * (i + 1))
		t.exec(remembers, top)
		t.exec(`UPDATE {counters} SET value = 2 WHERE name = 'feed'`)
		id := fmt.Sprint("after ", i)
		t.publish(outbox.Event{ID: id, Topic: "t"})
		if n := t.number(`SELECT feed_seq FROM {events} WHERE id = ?`, id); n != top+1 {
			t.Errorf("%s: the next number is %d, want %d", remembers, n, top+1)
		}
		t.exec(`DELETE FROM {feed}`)
		t.exec(`DELETE FROM {events}`)
	}
	t.exec(`DELETE FROM {webhook_deliveries}`)
	t.exec(`DELETE FROM {subscriptions}`)
}

func (t *env) wantGone(after outbox.Cursor, oldest int64) {
	t.Helper()
	_, _, err := t.o.Feed().Read(t.ctx(), after, 10)
	var gone *outbox.GoneError
	if !errors.Is(err, outbox.ErrGone) || !errors.As(err, &gone) {
		t.Fatalf("read after %v: %v, want outbox.ErrGone", after, err)
	}
	if gone.Oldest != (outbox.Cursor{Epoch: t.head().Epoch, Seq: oldest}) {
		t.Errorf("read after %v: the oldest is %v, want %d", after, gone.Oldest, oldest)
	}
}

func feedGone(t *env) {
	t.publish(events("a", 5)...)
	t.purgeAll()
	epoch := t.head().Epoch
	at := func(seq int64) outbox.Cursor { return outbox.Cursor{Epoch: epoch, Seq: seq} }
	t.wantGone(outbox.Cursor{}, 5) // nothing is kept, and nothing has come since
	t.publish(events("b", 3)...)
	for seq := range int64(5) {
		t.wantGone(at(seq), 5)
	}
	t.wantDense(t.feed(at(5)), 6, []string{"b-0", "b-1", "b-2"})
	if err := t.o.Feed().Register(t.ctx(), "late", at(2), time.Hour); !errors.Is(err, outbox.ErrGone) {
		t.Errorf("a cursor at what is purged: %v", err)
	}
	// What a hand has deleted is no silent gap either.
	t.exec(`DELETE FROM {events} WHERE id = 'b-1'`)
	page, next, err := t.o.Feed().Read(t.ctx(), at(5), 10)
	if err != nil || next != at(6) {
		t.Errorf("up to the gap: next %v, %v", next, err)
	}
	equalIDs(t, "up to the gap", feedIDs(page), []string{"b-0"})
	t.wantGone(at(6), 7)
	t.exec(`DELETE FROM {events}`)
	t.wantGone(at(7), 8)
	t.exec(`DELETE FROM {feed}`)
}

func feedAhead(t *env) {
	t.publish(events("e", 2)...)
	head := t.head()
	f := t.o.Feed()
	head.Seq++
	_, _, read := f.Read(t.ctx(), head, 1)
	for what, err := range map[string]error{"read": read, "register": f.Register(t.ctx(), "c", head, 0)} {
		if !errors.Is(err, outbox.ErrAhead) {
			t.Errorf("%s: %v, want outbox.ErrAhead", what, err)
		}
	}
}

func feedEpoch(t *env) {
	t.publish(events("before", 3)...)
	old := t.head()
	f := t.o.Feed()
	if err := f.Register(t.ctx(), "reader", old, time.Hour); err != nil {
		t.Fatal(err)
	}
	var now outbox.Cursor
	for range 3 { // within a millisecond too
		c, err := f.NewEpoch(t.ctx())
		if err != nil || c.Epoch <= now.Epoch || c.Epoch <= old.Epoch || c.Seq != old.Seq {
			t.Fatalf("new epoch %v, %v after %v", c, err, now)
		}
		now = c
	}
	_, _, err := f.Read(t.ctx(), old, 1)
	var other *outbox.EpochError
	if !errors.Is(err, outbox.ErrEpoch) || !errors.As(err, &other) || other.Epoch != now.Epoch {
		t.Errorf("read at %v: %v", old, err)
	}
	t.publish(events("after", 2)...)
	t.wantDense(t.feed(now), 4, []string{"after-0", "after-1"})
	at, err := f.Position(t.ctx(), "reader")
	if at != old || err != nil {
		t.Errorf("the cursor is at %v, %v", at, err)
	}
	if err := f.Advance(t.ctx(), "reader", at, at); !errors.Is(err, outbox.ErrEpoch) {
		t.Errorf("advance in the old epoch: %v", err)
	}
	if n := t.purgeAll(); n != 5 {
		t.Errorf("%d purged: a cursor of another epoch was waited for", n)
	}
	if err := f.Advance(t.ctx(), "reader", at, now); err != nil {
		t.Errorf("advance into the new epoch: %v", err)
	}
}

func feedCursor(t *env) {
	t.publish(events("e", 10)...)
	f, epoch := t.o.Feed(), t.head().Epoch
	at := func(seq int64) outbox.Cursor { return outbox.Cursor{Epoch: epoch, Seq: seq} }
	if err := f.Register(t.ctx(), "r", outbox.Cursor{}, time.Hour); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to outbox.Cursor
		want     error
	}{
		{outbox.Cursor{}, at(3), nil},
		{at(0), at(4), outbox.ErrCursorMoved},
		{at(2), at(4), outbox.ErrCursorMoved},
		{at(3), at(2), outbox.ErrInvalidOptions},
		{at(3), at(11), outbox.ErrAhead},
		{at(3), outbox.Cursor{Epoch: epoch + 1, Seq: 4}, outbox.ErrEpoch},
		{at(3), at(3), nil},
		{at(3), at(10), nil},
	} {
		if err := f.Advance(t.ctx(), "r", c.from, c.to); !errors.Is(err, c.want) {
			t.Errorf("from %v to %v: %v, want %v", c.from, c.to, err, c.want)
		}
	}
	if err := f.Register(t.ctx(), "r", at(1), time.Minute); err != nil { // a restart of the reader
		t.Fatal(err)
	}
	list, err := f.Cursors(t.ctx())
	if err != nil || len(list) != 1 || list[0].Name != "r" || list[0].At != at(10) || list[0].Behind != 0 || !list[0].Active || list[0].Hold != time.Minute {
		t.Errorf("cursors %+v, %v", list, err)
	}
	if err := f.Forget(t.ctx(), "r"); err != nil {
		t.Error(err)
	}
	_, position := f.Position(t.ctx(), "r")
	for what, err := range map[string]error{
		"position": position, "forget": f.Forget(t.ctx(), "r"), "touch": f.Touch(t.ctx(), "r"), "advance": f.Advance(t.ctx(), "r", at(1), at(2)),
	} {
		if !errors.Is(err, outbox.ErrUnknownCursor) {
			t.Errorf("%s of no cursor: %v", what, err)
		}
	}
}

// What an engine says of such a text is its own.
func feedNames(t *env) {
	t.publish(events("e", 1)...)
	f, at := t.o.Feed(), t.head()
	for _, name := range []string{"", "\xff", "a\x00", strings.Repeat("x", outbox.MaxCursorLen+1)} {
		_, position := f.Position(t.ctx(), name)
		for what, err := range map[string]error{
			"register": f.Register(t.ctx(), name, at, 0), "position": position, "advance": f.Advance(t.ctx(), name, at, at),
			"touch": f.Touch(t.ctx(), name), "forget": f.Forget(t.ctx(), name),
		} {
			if !errors.Is(err, outbox.ErrInvalidOptions) {
				t.Errorf("%s of %q: %v, want outbox.ErrInvalidOptions", what, name, err)
			}
		}
	}
}

func feedCursorRace(t *env) {
	t.publish(events("e", 10)...)
	epoch := t.head().Epoch
	if err := t.o.Feed().Register(t.ctx(), "r", outbox.Cursor{}, time.Hour); err != nil {
		t.Fatal(err)
	}
	var won atomic.Int64
	t.together(4, func(_ int, o *outbox.Outbox) error {
		for seq := range int64(10) {
			err := o.Feed().Advance(t.ctx(), "r", outbox.Cursor{Epoch: epoch, Seq: seq}, outbox.Cursor{Epoch: epoch, Seq: seq + 1})
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, outbox.ErrCursorMoved):
				return err
			}
		}
		return nil
	})
	at, err := t.o.Feed().Position(t.ctx(), "r")
	if err != nil || at.Seq != won.Load() {
		t.Errorf("the cursor is at %v, %v, after %d moves by one", at, err, won.Load())
	}
}
