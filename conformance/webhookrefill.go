package conformance

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

func (t *env) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantRefill refills and checks how many were made.
func (t *env) wantRefill(w *webhook.Webhooks, name string, from int64, want int) {
	t.Helper()
	if n, err := w.Refill(t.ctx(), name, from); n != want || err != nil {
		t.Errorf("refilled %d, %v, want %d", n, err, want)
	}
}

// Two pauses without room; what was delivered between and behind them is swept.
func webhookRefilled(t *env) {
	w := t.webhooks(webhook.Options{KeepPaused: 1})
	t.subscribe(w, "all", "", false, "*")
	for _, round := range []string{"1.", "2."} {
		t.must(w.Pause(t.ctx(), "all"))
		t.publish(events(round+"kept", 1)...)
		t.publish(events(round+"missed", 2)...)
		t.must(w.Resume(t.ctx(), "all"))
		t.publish(events(round+"delivered", 3)...)
	}
	t.exec(`DELETE FROM {webhook_deliveries} WHERE state = 0`) // as once they are done, and swept
	if i := t.subscription(w, "all"); i.Missed != 4 || i.MissedFrom != 2 {
		t.Errorf("%+v", i)
	}
	t.wantRefill(w, "all", 2, 4)
	t.wantRefill(w, "all", 1, 0)
	if i := t.subscription(w, "all"); i.Missed != 0 || i.MissedFrom != 0 || i.Pending != 4 {
		t.Errorf("refilled: %+v", i)
	}
	if n, err := w.RefillRange(t.ctx(), "all", 1, 4); n != 2 || err != nil { // the rest, whatever was delivered
		t.Errorf("refilled %d of a range, %v", n, err)
	}
}

// The release that makes a subscription has options that another one changes.
func webhookUpdatedBound(t *env) {
	w := t.webhooks(webhook.Options{KeepPaused: 1})
	t.subscribe(w, "all", "", false, "*")
	t.must(w.Pause(t.ctx(), "all"))
	t.publish(events("a", 2)...)
	later := t.webhooks(webhook.Options{KeepPaused: 3})
	s := webhook.Subscription{Name: "all", URL: "http://127.0.0.1:1/", Topics: []string{"*"}}
	t.must(later.Update(t.ctx(), s))
	t.publish(events("b", 3)...)
	if i := t.subscription(w, "all"); i.KeepPaused != 3 || i.PausedHold != 7*24*time.Hour || i.Kept != 3 || i.Missed != 2 || i.MissedFrom != 2 {
		t.Errorf("with what the options say now: %+v", i)
	}
	s.KeepPaused, s.PausedHold = 4, time.Hour
	t.must(later.Update(t.ctx(), s))
	t.publish(events("c", 1)...)
	if i := t.subscription(w, "all"); i.KeepPaused != 4 || i.PausedHold != time.Hour || i.Kept != 4 || i.Missed != 2 {
		t.Errorf("with what it says itself: %+v", i)
	}
	t.must(w.Resume(t.ctx(), "all"))
	t.wantRefill(w, "all", 1, 2)
	t.wantDeliveries("all", 1)
	s.KeepPaused = -1
	if err := w.Update(t.ctx(), s); !errors.Is(err, outbox.ErrInvalidOptions) {
		t.Error(err)
	}
}

func webhookRefilledEarly(t *env) {
	w := t.webhooks(webhook.Options{})
	t.subscribe(w, "all", "", false, "*")
	t.exec(`UPDATE {subscriptions} SET state = 2, missed_from = 1`)
	t.exec(`UPDATE {counters} SET value = value + 1 WHERE name = 'subscriptions'`)
	t.publish(events("a", 3)...)
	t.wantRefill(w, "all", 1, 3)
	t.publish(events("b", 2)...)
	if i := t.subscription(w, "all"); i.MissedFrom != 4 {
		t.Errorf("%+v", i)
	}
	t.must(w.Resume(t.ctx(), "all"))
	t.publish(events("c", 1)...)
	if i := t.subscription(w, "all"); i.MissedFrom != 4 {
		t.Errorf("resumed: %+v", i)
	}
	t.wantRefill(w, "all", 4, 2)
	t.wantDeliveries("all", 1)
	if i := t.subscription(w, "all"); i.MissedFrom != 0 {
		t.Errorf("refilled: %+v", i)
	}
}

// missedOfOld has a subscription miss what is published from the second of four old events to the last of two new ones, and
// answers the position before the first. What it was owed until now is done.
func (t *env) missedOfOld(w *webhook.Webhooks, name string) (before int64) {
	t.Helper()
	before = t.number(`SELECT COALESCE(MAX(feed_seq), 0) FROM {feed}`)
	t.subscribe(w, name, "", false, "*")
	t.must(w.Pause(t.ctx(), name))
	t.publish(events(name+" old", 4)...)
	t.exec(`UPDATE {webhook_deliveries} SET state = 1 WHERE state = 0`)
	t.exec(`UPDATE {events} SET settled_ms = settled_ms - 7200000, due_ms = due_ms - 7200000`)
	t.exec(`UPDATE {feed} SET published_ms = published_ms - 7200000`)
	t.publish(events(name+" new", 2)...)
	t.must(w.Resume(t.ctx(), name))
	return before
}

// purgeOld deletes what missedOfOld calls old.
func (t *env) purgeOld() error {
	_, err := t.o.Purge(t.ctx(), outbox.PurgeOptions{Published: time.Hour})
	return err
}

func webhookRefillGone(t *env) {
	w := t.webhooks(webhook.Options{KeepPaused: 1})
	t.missedOfOld(w, "all")
	t.must(t.purgeOld())
	n, err := w.Refill(t.ctx(), "all", 2)
	var gone *outbox.GoneError
	if n != 2 || !errors.Is(err, outbox.ErrGone) || !errors.As(err, &gone) || gone.Oldest.Seq != 4 {
		t.Errorf("refilled %d, %v; want 2, and that the feed begins behind 4", n, err)
	}
	if i := t.subscription(w, "all"); i.Missed != 3 || i.MissedFrom != 2 {
		t.Errorf("%+v, want that 3 are missed from 2 on", i)
	}
	t.wantRefill(w, "all", 5, 0) // who names what is kept has given up what is not
	if i := t.subscription(w, "all"); i.Missed != 0 || i.MissedFrom != 0 {
		t.Errorf("given up: %+v", i)
	}
}

// A refill that names another range, or a position that is purged itself, is no word about what is purged before that.
func webhookRefillKeepsMarks(t *env) {
	w := t.webhooks(webhook.Options{KeepPaused: 1})
	t.missedOfOld(w, "all")
	t.must(t.purgeOld())
	for _, x := range []struct {
		what   string
		n      int
		gone   bool
		missed int64
		refill func() (int, error)
	}{
		{"a range that is kept", 1, false, 4, func() (int, error) { return w.RefillRange(t.ctx(), "all", 6, 6) }},
		{"a range that is purged in part", 1, true, 3, func() (int, error) { return w.RefillRange(t.ctx(), "all", 4, 0) }},
		{"a range that has its deliveries", 0, false, 3, func() (int, error) { return w.RefillRange(t.ctx(), "all", 5, 6) }},
		{"from a position that is purged", 0, true, 3, func() (int, error) { return w.Refill(t.ctx(), "all", 4) }},
	} {
		n, err := x.refill()
		if n != x.n || err != nil != x.gone || errors.Is(err, outbox.ErrGone) != x.gone {
			t.Errorf("%s: refilled %d, %v; want %d, and ErrGone: %v", x.what, n, err, x.n, x.gone)
		}
		if i := t.subscription(w, "all"); i.Missed != x.missed || i.MissedFrom != 2 {
			t.Errorf("%s: %d are missed from %d on, want %d from 2", x.what, i.Missed, i.MissedFrom, x.missed)
		}
	}
	t.wantRefill(w, "all", 6, 0)
	if i := t.subscription(w, "all"); i.Missed != 0 || i.MissedFrom != 0 {
		t.Errorf("given up: %+v", i)
	}
}

// The old ones are purged behind each statement of a refill about the feed, as far as it lets purge in. Each event that was missed has a delivery
// then and is there, or is said to be gone and stays missed.
func webhookRefillBesidePurge(t *env) {
	w := t.webhooks(webhook.Options{KeepPaused: 1})
	for at, statements := 1, 1; at <= statements; at++ {
		name := fmt.Sprint("s", at)
		before := t.missedOfOld(w, name)
		purged := make(chan error, 1)
		statements = 0
		db := t.hooked(hookdb.Hooks{After: func(query string) error {
			if !strings.Contains(query, "feed") {
				return nil
			}
			if statements++; statements == at {
				go func() { purged <- t.purgeOld() }()
				holdsWithin(100*time.Millisecond, func() bool { return len(purged) > 0 })
			}
			return nil
		}})
		n, err := t.webhooksOn(db, webhook.Options{KeepPaused: 1}).Refill(t.ctx(), name, before+2)
		t.must(await(t, "purge ends", purged))
		i := t.subscription(w, name)
		there := t.number(`SELECT COUNT(*) FROM {webhook_deliveries} d JOIN {events} e ON e.seq = d.seq
WHERE d.state = 0 AND d.subscription_id = (SELECT id FROM {subscriptions} WHERE name = ?)`, name)
		if n < 2 || int64(n) != there || int64(n)+i.Missed != 5 {
			t.Errorf("purged after statement %d: refilled %d, of which %d are there, and %d are missed; 5 were", at, n, there, i.Missed)
		}
		if all := n == 5; all && err != nil || !all && (!errors.Is(err, outbox.ErrGone) || i.MissedFrom != before+2) {
			t.Errorf("purged after statement %d: refilled %d, %v, and missed from %d on, not %d", at, n, err, i.MissedFrom, before+2)
		}
	}
}
