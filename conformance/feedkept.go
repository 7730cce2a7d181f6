package conformance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func feedPurgeWaits(t *env) {
	t.publish(events("e", 10)...)
	f, epoch := t.o.Feed(), t.head().Epoch
	at := func(seq int64) outbox.Cursor { return outbox.Cursor{Epoch: epoch, Seq: seq} }
	for name, hold := range map[string]time.Duration{"reads": time.Hour, "never waited for": 0, "abandoned": time.Minute} {
		if err := f.Register(t.ctx(), name, outbox.Cursor{}, hold); err != nil {
			t.Fatal(err)
		}
	}
	t.exec(`UPDATE {cursors} SET seen_ms = seen_ms - 60000 WHERE name = 'abandoned'`)
	if err := f.Advance(t.ctx(), "reads", at(0), at(4)); err != nil {
		t.Fatal(err)
	}
	if n := t.purgeAll(); n != 4 {
		t.Errorf("%d purged, want what the active reader has read: 4", n)
	}
	t.wantDense(t.feed(at(4)), 5, []string{"e-4", "e-5", "e-6", "e-7", "e-8", "e-9"})
	t.wantGone(outbox.Cursor{}, 4)
	t.exec(`UPDATE {cursors} SET seen_ms = seen_ms - 3600000 WHERE name = 'reads'`)
	if err := f.Touch(t.ctx(), "reads"); err != nil {
		t.Fatal(err)
	}
	if n := t.purgeAll(); n != 0 {
		t.Errorf("%d purged from under a reader that is there", n)
	}
	t.exec(`UPDATE {cursors} SET seen_ms = seen_ms - 3600000 WHERE name = 'reads'`)
	if n := t.purgeAll(); n != 6 {
		t.Errorf("%d purged, want 6: nobody reads any more", n)
	}
}

// The feed is turned on when a purge has just begun, and it reads nothing of it any more.
func feedPurgeBegun(t *env) {
	t.write(events("e", 5)...)
	opts := keeping(relay.OrderTotal)
	t.drain(t.otherRelay(&receiver{}, opts))
	t.exec(`UPDATE {events} SET due_ms = 1, settled_ms = 1`)
	numbered := t.feeding()
	var once atomic.Bool
	purging := t.outboxOn(t.hooked(hookdb.Hooks{After: func(query string) error {
		if strings.Contains(query, "name = 'feed'") && !once.Swap(true) {
			if err := numbered.Feed().BackFill(t.ctx(), nil); err != nil {
				t.Errorf("back-fill: %v", err)
			}
		}
		return nil
	}}), nil)
	n, err := purging.Purge(t.ctx(), outbox.PurgeOptions{Published: time.Hour})
	if err != nil || !once.Load() {
		t.Fatal(err, once.Load())
	}
	if n != 0 {
		t.Errorf("%d purged, and they are in the feed", n)
	}
	t.wantDense(t.feed(outbox.Cursor{Epoch: t.head().Epoch}), 1, []string{"e-0", "e-1", "e-2", "e-3", "e-4"})
}

// What lies behind an event that is too young stays, though it is old enough itself.
func feedPurgeOrder(t *env) {
	t.publish(events("e", 5)...)
	t.exec(`UPDATE {feed} SET published_ms = 1 WHERE feed_seq <> 3`)
	t.exec(`UPDATE {events} SET due_ms = 1, settled_ms = 1 WHERE feed_seq <> 3`)
	t.purge(outbox.PurgeOptions{Published: time.Hour}, 2)
	epoch := t.head().Epoch
	t.wantDense(t.feed(outbox.Cursor{Epoch: epoch, Seq: 2}), 3, []string{"e-2", "e-3", "e-4"})
	t.exec(`UPDATE {feed} SET published_ms = 1`)
	t.exec(`UPDATE {events} SET due_ms = 1, settled_ms = 1`)
	t.purge(outbox.PurgeOptions{Published: time.Hour}, 3)
}

// replay has what is published handed over again, by handlers that are new.
func (t *env) replay(c *crew, fn relay.HandlerFunc) *relay.Relay {
	t.Helper()
	opts := keeping(relay.OrderPerKey)
	opts.MaxAttempts = 1
	return c.with(t.feeding(), opts, nil, c.one("new", fn))
}

func feedReplayed(t *env) {
	ids := t.publish(events("e", 5)...)
	before := t.feed(outbox.Cursor{})
	c := t.crew()
	t.write(outbox.Event{ID: "after", Topic: "conformance"})
	t.drain(t.replay(c, nil))
	c.wantCalls("replayed", map[string]int{"new": 6})
	after := t.feed(outbox.Cursor{})
	t.wantDense(after, 1, append(ids, "after"))
	for i, e := range before {
		if after[i].Cursor != e.Cursor || after[i].Event.ID != e.Event.ID || !after[i].PublishedAt.Equal(e.PublishedAt) {
			t.Errorf("%+v was %+v", after[i], e)
		}
	}
	// Purged while it is handed over again: it stays, keeps its number, and is deleted in the end.
	t.exec(`UPDATE {events} SET state = 0, settled_ms = 0 WHERE id = 'e-1'`)
	if n := t.purgeAll(); n != 5 {
		t.Errorf("%d purged, want 5", n)
	}
	t.drain(t.relayOn(t.feeding(), &receiver{}, keeping(relay.OrderTotal)))
	if n := t.number(`SELECT feed_seq FROM {events} WHERE id = 'e-1' AND state = 1`); n != 2 {
		t.Errorf("it has number %d, want 2", n)
	}
	t.wantDense(t.feed(t.head()), 7, nil)
	if n := t.purgeAll(); n != 1 {
		t.Errorf("%d purged, want 1", n)
	}
}

func feedDiscarded(t *env) {
	ids := t.publish(events("e", 4)...)
	c := t.crew()
	t.drain(t.replay(c, func(_ context.Context, _ *sql.Tx, m relay.Message) error {
		if m.ID == ids[1] || m.ID == ids[2] {
			return errNo
		}
		return nil
	}))
	t.settled(2)
	t.write(outbox.Event{ID: "never", Topic: "t"})
	t.exec(`UPDATE {events} SET state = 2, attempts = 1, total_attempts = 1, first_failed_ms = 1, settled_ms = due_ms WHERE id = 'never'`)
	t.wantDense(t.feed(outbox.Cursor{}), 1, ids)
	if n, err := t.o.Discard(t.ctx(), ids[1], "never"); n != 2 || err != nil {
		t.Errorf("discarded %d, %v; want 2", n, err)
	}
	t.exec(`UPDATE {events} SET due_ms = 1, settled_ms = 1 WHERE state = 2`) // long ago
	t.purge(outbox.PurgeOptions{Dead: time.Hour}, 1)
	for _, x := range t.records() {
		if x.state != published || x.id == "never" {
			t.Errorf("want it published:%s", describe([]record{x}))
		}
	}
	t.wantDense(t.feed(outbox.Cursor{}), 1, ids)
	if n := t.purgeAll(); n != 4 {
		t.Errorf("%d purged, want 4", n)
	}
}

func feedBackFill(t *env) {
	t.old("old", 1200, published, time.Minute)
	ids := make([]string, 0, 1210)
	for _, x := range t.records() {
		ids = append(ids, x.id)
	}
	var steps atomic.Int64
	db := t.hooked(hookdb.Hooks{Before: func(query string) error {
		if strings.Contains(query, "SET feed_seq") && steps.Add(1) == 2 {
			return hookdb.ErrCut
		}
		return nil
	}})
	if err := t.outboxOn(db, nil).Feed().BackFill(t.ctx(), nil); err == nil {
		t.Error("it was cut off, and did not say so")
	}
	if n := t.number(`SELECT COUNT(*) FROM {feed}`); n != 500 || t.head().Seq != n {
		t.Errorf("%d numbered, and the head is %v, want one step", n, t.head())
	}
	ids = append(ids, t.publish(events("new", 3)...)...) // relays are at work
	last, calls := int64(-1), 0
	err := t.o.Feed().BackFill(t.ctx(), func(done, total int64) {
		if calls++; total != 1203 || done <= last || done > total {
			t.Errorf("progress: %d of %d, after %d", done, total, last)
		}
		last = done
	})
	if err != nil || last != 1203 || calls < 3 {
		t.Errorf("%v, %d of 1203 in %d steps", err, last, calls)
	}
	all := t.feed(outbox.Cursor{})
	t.wantDense(all, 1, ids)
	if d := all[0].PublishedAt.Sub(all[0].CreatedAt); d.Abs() < 30*time.Second {
		t.Errorf("it was published a minute ago, and not %v", d)
	}
	if err := t.o.Feed().BackFill(t.ctx(), nil); err != nil || t.head().Seq != 1203 {
		t.Errorf("nothing to do: %v, head %v", err, t.head())
	}
}

// Where it read all again at each call, it would never get past the first step, nor show that nothing is left.
func feedBackFillCutShort(t *env) {
	t.write(outbox.Event{ID: "first", Topic: "t", Delay: time.Hour})
	t.old("old", 1200, published, time.Minute)
	var ids []string
	for _, x := range t.records() {
		ids = append(ids, x.id)
	}
	unnumbered := func() int64 { return t.number(`SELECT COUNT(*) FROM {events} WHERE state = 1 AND feed_seq = 0`) }
	var looks atomic.Int64
	db := t.hooked(hookdb.Hooks{Before: func(query string) error {
		if strings.Contains(query, "seq, feed_seq FROM") && looks.Add(1) > 1 {
			return hookdb.ErrCut
		}
		return nil
	}})
	o, calls := t.outboxOn(db, nil), 1
	for ; o.Feed().BackFill(t.ctx(), nil) != nil; calls++ {
		if looks.Store(0); calls > 20 {
			t.Fatalf("%d calls, and %d of %d are numbered", calls, t.number(`SELECT COUNT(*) FROM {feed}`), len(ids))
		}
		t.publish(outbox.Event{ID: fmt.Sprint("beside", calls), Topic: "t"}) // relays are at work
	}
	if n := unnumbered(); n != 0 {
		t.Errorf("%d have no number, after %d calls", n, calls)
	}
	// Begun anew, it finds what was published behind it.
	t.exec(`UPDATE {events} SET state = 1, settled_ms = {clock} WHERE id = 'first'`)
	t.exec(`UPDATE {events} SET due_ms = settled_ms WHERE id = 'first'`)
	if err := t.o.Feed().BackFill(t.ctx(), nil); err != nil {
		t.Fatal(err)
	}
	if n := unnumbered(); n != 0 {
		t.Errorf("%d have no number, though it was called again", n)
	}
}

func feedBackFillTimes(t *env) {
	ids := t.write(events("e", 5)...)
	t.exec(`UPDATE {events} SET state = 1, settled_ms = 1000 WHERE state = 0`)
	t.exec(`UPDATE {events} SET settled_ms = 0 WHERE id IN ('e-1', 'e-2', 'e-4')`)
	if err := t.o.Feed().BackFill(t.ctx(), nil); err != nil {
		t.Fatal(err)
	}
	all := t.feed(outbox.Cursor{})
	t.wantDense(all, 1, ids)
	for i, e := range all {
		if old := i == 0 || i == 3; e.PublishedAt.IsZero() || (e.PublishedAt.UnixMilli() == 1000) != old {
			t.Errorf("%s was published at %v", e.Event.ID, e.PublishedAt)
		}
	}
	t.exec(`UPDATE {events} SET settled_ms = due_ms`)
}

func feedRefused(t *env) {
	opts := quick(relay.OrderTotal)
	if _, err := relay.New(t.feeding(), &receiver{}, opts); !errors.Is(err, outbox.ErrInvalidOptions) || !strings.Contains(err.Error(), "Retention") {
		t.Errorf("a relay with a feed and without retention: %v", err)
	}
	t.publish(events("e", 2)...)
	for _, order := range []relay.Order{relay.OrderTotal, relay.OrderPerKey, relay.OrderNone} {
		r := t.otherRelay(&receiver{}, keeping(order))
		if _, err := r.RunOnce(t.ctx()); !errors.Is(err, relay.ErrFeed) {
			t.Errorf("a pass in %v: %v, want relay.ErrFeed", order, err)
		}
		if err := r.Run(t.ctx()); !errors.Is(err, relay.ErrFeed) {
			t.Errorf("run in %v: %v, want relay.ErrFeed", order, err)
		}
	}
}

func feedOff(t *env) {
	f := t.o.Feed()
	t.write(events("e", 3)...)
	t.drain(t.relay(&receiver{}, keeping(relay.OrderTotal)))
	_, _, read := f.Read(t.ctx(), outbox.Cursor{}, 1)
	_, oldest := f.Oldest(t.ctx())
	_, head := f.Head(t.ctx())
	_, epoch := f.NewEpoch(t.ctx())
	_, position := f.Position(t.ctx(), "c")
	_, cursors := f.Cursors(t.ctx())
	for what, err := range map[string]error{
		"read": read, "oldest": oldest, "head": head, "new epoch": epoch, "position": position, "cursors": cursors,
		"register": f.Register(t.ctx(), "c", outbox.Cursor{}, 0), "advance": f.Advance(t.ctx(), "c", outbox.Cursor{}, outbox.Cursor{}),
		"touch": f.Touch(t.ctx(), "c"), "forget": f.Forget(t.ctx(), "c"),
	} {
		if !errors.Is(err, outbox.ErrNoFeed) {
			t.Errorf("%s: %v, want outbox.ErrNoFeed", what, err)
		}
	}
	if n := t.number(`SELECT COUNT(*) FROM {feed}`) + t.number(`SELECT COALESCE(MAX(feed_seq), 0) FROM {events}`); n != 0 {
		t.Error("events have numbers")
	}
	if n := t.purgeAll(); n != 3 {
		t.Errorf("%d purged, want 3", n)
	}
}
