package conformance

import (
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func feedRules() []rule {
	rules := inEach("the feed is 1 to n in each key's order, whatever is rolled back, cut and retried", feedDense)
	for _, both := range [][]rule{
		inEach("a settle that is cut at any statement burns no number", feedCut),
		inEach("a settle whose commit was not heard of numbers once", feedUnheard),
		inEach("an owner that is late burns no number", feedLateOwner),
		inEach("an event that is gone when it is settled burns no number", feedEventGone),
	} {
		rules = append(rules, both...)
	}
	return append(rules,
		rule{"an event that commits late gets a higher number, and is seen", feedLateCommit},
		rule{"a feed reads events as they were written", feedReads},
		rule{"a page of the feed has what its topics say, and moves on past the rest", feedTopics},
		rule{"a follower gets what is there and what comes, in order", feedFollows},
		rule{"a feed that is copied into another database goes on there", feedCopied},
		rule{"when all is purged, numbers go on", feedPurgedAll},
		rule{"a counter of the feed from before gives no number that is remembered", feedCounterBehind},
		rule{"a position that is purged is refused, with the oldest there is", feedGone},
		rule{"a position ahead of the feed is refused", feedAhead},
		rule{"a position of another epoch is refused, and numbers go on", feedEpoch},
		rule{"a named cursor moves from where it is, never back, and only to the head", feedCursor},
		rule{"of readers of one cursor one gets on", feedCursorRace},
		rule{"purge waits for active readers of the feed, and for no others", feedPurgeWaits},
		rule{"purge leaves what is numbered while it is at work", feedPurgeBegun},
		rule{"purge deletes in the order of the feed", feedPurgeOrder},
		rule{"what is handed over again keeps its number", feedReplayed},
		rule{"a dead letter that is in the feed is published again when it is discarded", feedDiscarded},
		rule{"a back-fill that was cut off goes on, and numbers each event once", feedBackFill},
		rule{"a back-fill that is cut off after each step comes to an end", feedBackFillCutShort},
		rule{"a back-fill numbers what has no time of publication among what has one", feedBackFillTimes},
		rule{"a name that can't be a cursor's is refused before the database is asked", feedNames},
		rule{"a relay that would publish past the feed is refused", feedRefused},
		rule{"without a feed nothing has a number", feedOff})
}

// feeding is an outbox with a feed, on a pool of its own.
func (t *env) feeding() *outbox.Outbox {
	t.Helper()
	return t.outboxOn(t.another(), &outbox.Options{Feed: true, FeedPoll: 20 * time.Millisecond})
}

// keeping is quick, with what a relay with a feed needs.
func keeping(order relay.Order) *relay.Options {
	opts := quick(order)
	opts.Retention = time.Hour
	return opts
}

// publish writes events and has them published into the feed.
func (t *env) publish(events ...outbox.Event) []string {
	t.Helper()
	ids := t.write(events...)
	t.drain(t.relayOn(t.feeding(), &receiver{}, keeping(relay.OrderTotal)))
	return ids
}

// feed reads all of the feed behind a position.
func (t *env) feed(after outbox.Cursor) (all []outbox.FeedEvent) {
	t.Helper()
	for {
		page, next, err := t.o.Feed().Read(t.ctx(), after, 0)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, page...); next.Seq == after.Seq {
			return all
		}
		after = next
	}
}

// wantDense fails the case unless these are events from a number on, without a gap, each once.
func (t *env) wantDense(all []outbox.FeedEvent, from int64, ids []string) {
	t.Helper()
	for i, e := range all {
		if e.Cursor.Seq != from+int64(i) {
			t.Fatalf("event %q has number %d, want %d", e.Event.ID, e.Cursor.Seq, from+int64(i))
		}
	}
	sameIDs(t, "in the feed", feedIDs(all), ids)
}

func feedIDs(all []outbox.FeedEvent) (ids []string) {
	for _, e := range all {
		ids = append(ids, e.Event.ID)
	}
	return ids
}

// wantKeysInOrder: the order of a key is that of insertion.
func (t *env) wantFeedKeysInOrder(all []outbox.FeedEvent) {
	t.Helper()
	last := make(map[string]int64)
	for _, e := range all {
		if e.Seq < last[e.Event.Key] {
			t.Errorf("number %d: seq %d of key %q comes after seq %d", e.Cursor.Seq, e.Seq, e.Event.Key, last[e.Event.Key])
		}
		last[e.Event.Key] = e.Seq
	}
}

// head is the head of the feed.
func (t *env) head() outbox.Cursor {
	t.Helper()
	c, err := t.o.Feed().Head(t.ctx())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// poll reads the feed until stop is called, which answers what it has seen. It sees each number after the one before.
func (t *env) poll() (stop func() []outbox.FeedEvent) {
	o := t.outboxOn(t.another(), nil)
	end, seen := make(chan struct{}), make(chan []outbox.FeedEvent, 1)
	go func() {
		var all []outbox.FeedEvent
		var at outbox.Cursor
		for over := false; ; {
			select {
			case <-end:
				over = true
			case <-time.After(2 * time.Millisecond):
			}
			page, next, err := o.Feed().Read(t.ctx(), at, 20)
			if err != nil && !retryable(t, err) {
				t.Errorf("poll at %v: %v", at, err)
				over = true
			}
			if err == nil {
				all, at = append(all, page...), next
			}
			if over && len(page) == 0 {
				seen <- all
				return
			}
		}
	}()
	return func() []outbox.FeedEvent {
		close(end)
		return await(t, "the reader of the feed ends", seen)
	}
}

func retryable(t *env, err error) bool { return t.dialect().Classify(err).Retryable() }

// turnOn turns the feed on, as the first relay with it does.
func (t *env) turnOn() {
	t.Helper()
	if err := t.o.Feed().BackFill(t.ctx(), nil); err != nil {
		t.Fatal(err)
	}
}
