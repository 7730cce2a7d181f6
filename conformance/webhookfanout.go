package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

func webhookOnce(t *env, order relay.Order) {
	w := t.webhooks(webhook.Options{})
	t.subscribe(w, "all", "", false, "*")
	t.subscribe(w, "some", "", true, "t.1", "t.3", "other.*")
	t.subscribe(w, "paused", "", false, "*")
	if err := w.Pause(t.ctx(), "paused"); err != nil {
		t.Fatal(err)
	}
	t.publishedInTrouble(order, func(writer int) string { return fmt.Sprintf("t.%d", writer) })
	t.wantDeliveries("all", 1)
	t.wantDeliveries("some", 1, "t.1", "t.3")
	t.wantDeliveries("paused", 1)
}

// fanOutOver has a relay publish that is cut off once, and checks the deliveries that come of it.
func (t *env) fanOutOver(order relay.Order, c strike) {
	t.Helper()
	t.space.empty(t.TB)
	w := t.webhooksOn(t.db, webhook.Options{})
	t.subscribe(w, "all", "", false, "*")
	t.subscribe(w, "paused", "", false, "*")
	if err := w.Pause(t.ctx(), "paused"); err != nil {
		t.Fatal(err)
	}
	t.write(manyKeys("e", 6)...)
	t.publishedThrough(c, order)
	t.wantDeliveries("all", 1)
	t.wantDeliveries("paused", 1)
	if i := t.subscription(w, "paused"); i.Kept != 6 {
		t.Errorf("%s: %d kept, want 6", c.what, i.Kept)
	}
}

func isDelivery(query string) bool {
	return strings.HasPrefix(query, "INSERT INTO outbox_webhook_deliveries")
}

func webhookCut(t *env, order relay.Order) {
	for name, is := range map[string]func(query string) bool{
		"read subscriptions": func(q string) bool { return strings.HasPrefix(q, "SELECT id, topics, state FROM") },
		"read room":          func(q string) bool { return strings.HasPrefix(q, "SELECT kept") },
		"count kept":         func(q string) bool { return strings.Contains(q, "SET kept = kept +") },
		"deliver":            isDelivery,
	} {
		t.fanOutOver(order, strikeBefore(name, is))
	}
	t.fanOutOver(order, strikeBeforeCommit(isDelivery))
}

func webhookUnheard(t *env, order relay.Order) { t.fanOutOver(order, strikeAfterCommit(isDelivery)) }

// Subscriptions come while relays settle: each has a delivery of its first event and of all that follow.
func webhookLate(t *env) {
	t.turnOn()
	w := t.webhooks(webhook.Options{})
	opts := keeping(relay.OrderPerKey)
	opts.Batch = 5
	var stops []func() error
	for range 2 {
		stops = append(stops, t.start(t.relayOn(t.feeding(), &receiver{}, opts)))
	}
	key := func(writer, round int) string { return fmt.Sprint(writer, " ", round) }
	var mu sync.Mutex
	made := make(map[string]string) // what its maker has written next
	t.together(4, func(writer int, o *outbox.Outbox) error {
		for round := range 20 {
			err := o.InTx(t.ctx(), func(ctx context.Context, tx *sql.Tx) error {
				_, err := o.Write(ctx, tx, outbox.Event{Topic: "t", Key: key(writer, round)})
				return err
			})
			if err == nil && round%5 == 0 {
				name := fmt.Sprintf("s%d.%d", writer, round)
				_, err = w.Create(t.ctx(), webhook.Subscription{Name: name, URL: "http://127.0.0.1:1/", Topics: []string{"*"}})
				mu.Lock()
				made[name] = key(writer, round+1)
				mu.Unlock()
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	t.allPublished("in the end")
	for _, stop := range stops {
		t.mustStop(stop)
	}
	head := t.head().Seq
	for name, next := range made {
		first := t.number(`SELECT COALESCE(MIN(feed_seq), ?) FROM {webhook_deliveries}
WHERE subscription_id = (SELECT id FROM {subscriptions} WHERE name = ?)`, head+1, name)
		t.wantDeliveries(name, first)
		if n := t.number(`SELECT f.feed_seq FROM {feed} f JOIN {events} e ON e.seq = f.seq WHERE e.event_key = ?`, next); n < first {
			t.Errorf("%s has deliveries from number %d on, and was there before number %d was written", name, first, n)
		}
	}
}

func webhookReplayed(t *env) {
	w := t.webhooks(webhook.Options{})
	t.subscribe(w, "all", "", false, "*")
	t.publish(events("e", 5)...)
	t.exec(`UPDATE {events} SET state = 0, settled_ms = 0`)
	if n := t.drain(t.relayOn(t.feeding(), &receiver{}, keeping(relay.OrderTotal))); n != 5 {
		t.Errorf("%d were handed over again, want 5", n)
	}
	t.wantDeliveries("all", 1)
	if i := t.subscription(w, "all"); i.Pending != 5 {
		t.Errorf("%d deliveries, want 5", i.Pending)
	}
}

func webhookPaused(t *env) {
	w := t.webhooks(webhook.Options{KeepPaused: 4})
	t.subscribe(w, "all", "", false, "*")
	t.publish(events("a", 2)...)
	if err := w.Pause(t.ctx(), "all"); err != nil {
		t.Fatal(err)
	}
	t.publish(events("b", 3)...)
	t.publish(events("c", 3)...)
	if i := t.subscription(w, "all"); i.Pending != 6 || i.Kept != 4 || i.Missed != 2 || i.MissedFrom != 7 {
		t.Errorf("paused: %+v", i)
	}
	if err := w.Resume(t.ctx(), "all"); err != nil {
		t.Fatal(err)
	}
	t.publish(events("d", 1)...)
	if i := t.subscription(w, "all"); i.Pending != 7 || i.Kept != 0 || i.Missed != 2 {
		t.Errorf("resumed: %+v", i)
	}
	if n, err := w.Refill(t.ctx(), "all", 7); n != 2 || err != nil {
		t.Errorf("refilled %d, %v", n, err)
	}
	t.wantDeliveries("all", 1)
}

func webhookPurge(t *env) {
	w := t.webhooks(webhook.Options{})
	t.subscribe(w, "all", "", false, "*")
	t.publish(events("e", 5)...)
	settle := func(number, state int64) {
		t.exec(`UPDATE {webhook_deliveries} SET state = ? WHERE feed_seq = ?`, state, number)
	}
	settle(1, 1)
	settle(2, 2)
	settle(4, 1)
	if n := t.purgeAll(); n != 2 {
		t.Errorf("%d purged, want the 2 before what is owed", n)
	}
	settle(3, 2)
	settle(5, 2)
	if n := t.purgeAll(); n != 3 {
		t.Errorf("%d purged, want the 3 that are left", n)
	}
}
