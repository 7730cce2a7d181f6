package conformance

import (
	"errors"
	"time"

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

func webhookRefillGone(t *env) {
	w := t.webhooks(webhook.Options{KeepPaused: 1})
	t.subscribe(w, "all", "", false, "*")
	t.must(w.Pause(t.ctx(), "all"))
	t.publish(events("a", 4)...)
	t.exec(`UPDATE {webhook_deliveries} SET state = 1`)
	t.exec(`UPDATE {events} SET settled_ms = settled_ms - 7200000`)
	t.exec(`UPDATE {feed} SET published_ms = published_ms - 7200000`)
	t.publish(events("b", 2)...)
	t.must(w.Resume(t.ctx(), "all"))
	if _, err := t.o.Purge(t.ctx(), outbox.PurgeOptions{Published: time.Hour}); err != nil {
		t.Fatal(err)
	}
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
