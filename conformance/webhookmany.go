package conformance

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

func webhookMany(t *env, order relay.Order) {
	const subscriptions, events = 220, 100
	w := t.webhooks(webhook.Options{})
	t.subscribe(w, "first", "", false, "*")
	var rows strings.Builder
	for i := range subscriptions - 1 {
		if i > 0 {
			rows.WriteString(", ")
		}
		fmt.Fprintf(&rows, `(%d, 'n%d', 'http://127.0.0.1:1/', '["*"]', '{}', '[]')`, i+2, i+2)
	}
	t.exec(`INSERT INTO {subscriptions} (id, name, url, topics, headers, secrets) VALUES ` + rows.String())
	t.write(manyKeys("e", events)...)
	var mu sync.Mutex
	inserts, most := 0, 0
	base := t.another()
	db := hookdb.Open(base, hookdb.Hooks{Before: func(query string) error {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case isDelivery(query):
			inserts++
			most = max(most, inserts)
		case query == hookdb.Commit || query == hookdb.Rollback:
			inserts = 0
		}
		return nil
	}})
	defer base.Close()
	defer db.Close()
	p := &receiver{}
	opts := keeping(order)
	opts.Lease = 10 * time.Minute // a settle that takes long on a machine under load is not this rule's
	if n := t.drain(t.relayOn(t.outboxOn(db, feedOptions()), p, opts)); n != events {
		t.Errorf("%d were published, want %d", n, events)
	}
	if most > 101 { // of 200 rows each
		t.Errorf("a transaction made %d times 200 deliveries", most)
	}
	if n := len(p.ids()); n != events {
		t.Errorf("%d hand-overs of %d events", n, events)
	}
	if n := t.number(`SELECT COUNT(*) FROM {webhook_deliveries}`); n != subscriptions*events {
		t.Errorf("%d deliveries, want %d", n, subscriptions*events)
	}
}

func webhookUnreadable(t *env) {
	w := t.webhooks(webhook.Options{})
	t.subscribe(w, "whole", "", false, "*")
	t.subscribe(w, "broken", "", false, "*")
	t.exec(`UPDATE {subscriptions} SET topics = '["t' WHERE name = 'broken'`)
	t.exec(`UPDATE {counters} SET value = value + 1 WHERE name = 'subscriptions'`)
	t.publish(events("e", 3)...)
	t.wantDeliveries("whole", 1)
	all, err := w.Subscriptions(t.ctx())
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if i := t.subscription(w, "broken"); i.Broken == "" || i.MissedFrom != 1 {
		t.Errorf("broken: %+v", i)
	}
	if i := t.subscription(w, "whole"); i.Broken != "" || i.Pending != 3 {
		t.Errorf("whole: %+v", i)
	}
	if err := w.Update(t.ctx(), webhook.Subscription{Name: "broken", URL: "http://127.0.0.1:1/", Topics: []string{"*"}}); err != nil {
		t.Fatal(err)
	}
	t.publish(events("f", 2)...)
	if n, err := w.Refill(t.ctx(), "broken", 1); n != 3 || err != nil {
		t.Errorf("refilled %d, %v", n, err)
	}
	t.wantDeliveries("broken", 1)
}

// 153 KB, were "<" written as HTML wants it, and too long where each byte must be escaped.
func webhookLongTopics(t *env) {
	w := t.webhooks(webhook.Options{})
	long := func(with string) (topics []string) {
		for i := range 100 {
			topics = append(topics, strings.Repeat(with, 250)+fmt.Sprint(i))
		}
		return topics
	}
	t.subscribe(w, "long", "", false, long("<")...)
	if i := t.subscription(w, "long"); len(i.Topics) != 100 || i.Broken != "" {
		t.Errorf("%d topics, %s", len(i.Topics), i.Broken)
	}
	_, err := w.Create(t.ctx(), webhook.Subscription{Name: "longer", URL: "http://127.0.0.1:1/", Topics: long("\x01")})
	if !errors.Is(err, outbox.ErrInvalidOptions) {
		t.Errorf("%v, want ErrInvalidOptions", err)
	}
}
