package fleet

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// Whatever is rolled back, fails, and is killed: the feed is 1, 2, 3 and so on, has each committed event once, and each
// key's in the order of its commits. A reader that follows it all the while sees the same.
func TestTheFeedIsDenseWhileRelaysAreKilled(t *testing.T) {
	const writers, keys, relays = 8, 50, 4
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) {
		l := newKeyLoad(t, d, keys)
		rc := newReceiver(t, func(receipt) answer {
			if rand.IntN(50) == 0 {
				return answer{Kind: answerFailed, Text: "at random"}
			}
			return answer{}
		})
		rc.fence = fenceOf(order)
		f := newFleet(t, d.url, rc, relay.Options{
			Order: order, Lease: 700 * time.Millisecond, Poll: 50 * time.Millisecond, PollMax: 100 * time.Millisecond,
			Backoff: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, Batch: 50, MaxAttempts: 1000, Retention: time.Hour,
		})
		f.feed = true
		f.startAll(relays)
		eventually(t, 20*time.Second, "the feed is on", func() bool {
			_, err := d.Feed().Head(t.Context())
			return err == nil
		})
		follower := follow(t, d)

		ctx, cancel := context.WithTimeout(t.Context(), hostTime(t))
		defer cancel()
		stop := f.killSometimes(400 * time.Millisecond)
		ids := l.run(t, ctx, writers)
		kills := stop()
		if kills == 0 {
			t.Error("no relay was killed")
		}
		eventually(t, time.Minute, "all is published", func() bool { return d.stats(t).Published == int64(len(ids)) })
		f.stopAll()

		all := d.readFeed(t)
		last := make(map[string]int)
		var got []string
		for i, e := range all {
			got = append(got, e.Event.ID)
			if e.Cursor.Seq != int64(i+1) {
				t.Fatalf("event %d of the feed has number %d", i+1, e.Cursor.Seq)
			}
			n, err := strconv.Atoi(string(e.Event.Payload))
			if err != nil {
				t.Fatal(err)
			}
			if order != relay.OrderNone && n != last[e.Event.Key]+1 {
				t.Errorf("number %d: change %d of %q comes after change %d", i+1, n, e.Event.Key, last[e.Event.Key])
			}
			last[e.Event.Key] = n
		}
		t.Logf("%d events, %d kills, %d handed over again", len(ids), kills, rc.doubles())
		if seen := follower(len(got)); !slices.Equal(seen, got) {
			t.Errorf("the follower saw %d events, of %d, or others", len(seen), len(got))
		}
		slices.Sort(got)
		slices.Sort(ids)
		if !slices.Equal(got, ids) {
			t.Errorf("%d events are in the feed, %d were committed", len(got), len(ids))
		}
	})
}

// follow reads the feed from its beginning on. The answer waits until n events have come.
func follow(t *testing.T, d *database) (seen func(n int) []string) {
	t.Helper()
	o, err := outbox.New(d.DB(), d.Dialect(), &outbox.Options{FeedPoll: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ids := make(chan string, 100_000)
	go func() {
		for e, err := range o.Feed().Follow(t.Context(), outbox.Cursor{}) {
			if err != nil {
				if t.Context().Err() == nil {
					t.Errorf("follow: %v", err)
				}
				continue // one that can be mended is followed on
			}
			ids <- e.Event.ID
		}
	}()
	return func(n int) (all []string) {
		t.Helper()
		for limit := time.After(patience * 20 * time.Second); len(all) < n; {
			select {
			case id := <-ids:
				all = append(all, id)
			case <-limit:
				return all
			}
		}
		return all
	}
}

// readFeed reads all of the feed.
func (d *database) readFeed(t *testing.T) (all []outbox.FeedEvent) {
	t.Helper()
	for at := (outbox.Cursor{}); ; {
		page, next, err := d.Feed().Read(t.Context(), at, 500)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, page...); next.Seq == at.Seq {
			return all
		}
		at = next
	}
}
