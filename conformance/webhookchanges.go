package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

func webhookIDs(t *env) {
	w := t.webhooks(webhook.Options{})
	id := func() int64 {
		t.Helper()
		t.subscribe(w, "x", "", false, "*")
		n := t.number(`SELECT id FROM {subscriptions} WHERE name = 'x'`)
		if err := w.Delete(t.ctx(), "x"); err != nil {
			t.Fatal(err)
		}
		return n
	}
	last := id()
	grown := func(when string) {
		t.Helper()
		n := id()
		if n <= last {
			t.Errorf("%s: id %d behind %d", when, n, last)
		}
		last = n
	}
	grown("the first was deleted")
	// As after a restore of some tables, or with rows that an earlier release has made.
	t.exec(`DELETE FROM {counters} WHERE name = 'subscription_id'`)
	t.exec(`INSERT INTO {webhook_deliveries} (subscription_id, feed_seq, seq) VALUES (?, 1, 1)`, last)
	grown("the counter is gone, and deliveries are left")
	t.subscribe(w, "other", "", false, "*")
	last = t.number(`SELECT id FROM {subscriptions} WHERE name = 'other'`)
	t.exec(`UPDATE {counters} SET value = 0 WHERE name = 'subscription_id'`)
	grown("the counter is behind the subscriptions")
}

// A sweep that is slow finds another state than the one it has listed.
func webhookStaleSweep(t *env) {
	w := t.webhooksOn(t.db, webhook.Options{PausedHold: time.Millisecond})
	t.subscribe(w, "x", "", false, "*")
	if err := w.Pause(t.ctx(), "x"); err != nil {
		t.Fatal(err)
	}
	t.publish(events("e", 5)...)
	t.exec(`UPDATE {subscriptions} SET since_ms = since_ms - 1000`)
	var once sync.Once
	slow := t.hooked(hookdb.Hooks{After: func(query string) error {
		if strings.HasPrefix(query, "SELECT id, state, since_ms") { // it has listed
			once.Do(func() {
				if err := w.Resume(t.ctx(), "x"); err != nil {
					t.Error(err)
				}
			})
		}
		return nil
	}})
	sweeper := t.webhooksOn(slow, webhook.Options{PausedHold: time.Millisecond})
	if _, err := sweeper.Sweep(t.ctx()); err != nil {
		t.Fatal(err)
	}
	if i := t.subscription(w, "x"); i.State != webhook.Active || i.Pending != 5 {
		t.Errorf("resumed while a sweep was on its way: %+v", i)
	}
}

// A 410 that comes when the subscription is another's, has another URL, or was another worker's says nothing of it.
func webhookLate410(t *env) {
	for _, what := range []string{"deleted", "updated", "lapsed"} {
		t.space.empty(t.TB)
		arrived, release := make(chan struct{}), make(chan struct{})
		var first atomic.Bool
		e := t.endpoint(func(string, int) int {
			if first.CompareAndSwap(false, true) {
				close(arrived)
				<-release
				return http.StatusGone
			}
			return http.StatusOK
		})
		w := t.webhooks(webhook.Options{})
		t.subscribe(w, "x", e.URL, false, "*")
		t.publish(events("e", 1)...)
		stop := t.sends(w)
		await(t, "the request", arrived)
		left := int64(1)
		switch what {
		case "deleted":
			left = 0
			if err := w.Delete(t.ctx(), "x"); err != nil {
				t.Fatal(err)
			}
			t.subscribe(w, "x", e.URL, false, "*")
		case "updated":
			err := w.Update(t.ctx(), webhook.Subscription{Name: "x", URL: e.URL + "/new", Topics: []string{"*"}})
			if err != nil {
				t.Fatal(err)
			}
		case "lapsed":
			t.exec(`UPDATE {webhook_deliveries} SET due_ms = 0`)
			defer t.sends(t.webhooks(webhook.Options{}))()
			t.eventually("another worker has it done", func() bool { return t.subscription(w, "x").Done == 1 })
		}
		close(release)
		t.eventually(what+": it is done", func() bool { return t.subscription(w, "x").Done == left })
		stop() // all is recorded
		if i := t.subscription(w, "x"); i.State != webhook.Active || i.Dead != 0 {
			t.Errorf("%s: %+v", what, i)
		}
	}
}

// A worker that reads a payload for longer than its lease finds that it is too late to send it.
func webhookSlowRead(t *env) {
	e := t.endpoint(nil)
	opts := webhook.Options{Timeout: racing.Slow * 300 * time.Millisecond, Lease: racing.Slow * 600 * time.Millisecond}
	w := t.webhooksOn(t.db, opts)
	t.subscribe(w, "x", e.URL, true, "*")
	all := events("e", 5)
	for i := range all {
		all[i].Payload = make([]byte, 20<<10)
	}
	t.publish(all...)
	reads, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := t.hooked(hookdb.Hooks{After: func(query string) error {
		if strings.HasPrefix(query, "SELECT payload FROM") {
			once.Do(func() {
				close(reads)
				<-release
			})
		}
		return nil
	}})
	stop := t.sends(t.webhooksOn(slow, opts))
	await(t, "the reading", reads)
	stopOther := t.sends(t.webhooks(opts))
	t.eventually("another worker has sent all", func() bool { return t.subscription(w, "x").Done == 5 })
	close(release)
	stop()
	stopOther()
	got, _ := e.all()
	equalIDs(t, "requests", got, positions(1, 5))
}

// An operator's change is for all requests that begin a second after it, and in the operator's own process for the next one.
func webhookChanged(t *env) {
	for _, elsewhere := range []bool{false, true} {
		for _, ordered := range []bool{false, true} {
			t.space.empty(t.TB)
			e := t.endpoint(func(string, int) int {
				time.Sleep(100 * time.Millisecond) // slow enough for what is claimed to last for more than a second
				return http.StatusOK
			})
			opts := webhook.Options{Parallel: 1}
			w := t.webhooks(opts)
			t.subscribe(w, "x", e.URL, ordered, "*")
			t.publish(events("e", 40)...)
			stop := t.sends(w)
			begun := func() int { got, _ := e.all(); return len(got) }
			t.eventually("it is sent", func() bool { return begun() > 1 })
			operator, grace := w, time.Duration(0)
			if elsewhere {
				operator, grace = t.webhooks(opts), time.Second
			}
			if err := operator.Pause(t.ctx(), "x"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(grace)
			n := begun()
			time.Sleep(400 * time.Millisecond)
			if late := begun() - n; late > 1 { // one may be on its way
				t.Errorf("paused elsewhere %v, ordered %v: %d requests were begun afterwards", elsewhere, ordered, late)
			}
			stop()
			if i := t.subscription(w, "x"); i.Pending == 0 {
				t.Errorf("all was sent: %+v", i)
			}
		}
	}
}

// What is made pending again is sent in the order of the feed, before what is newer, however slow the steps are.
func webhookRedelivered(t *env) {
	e := t.endpoint(nil)
	w := t.webhooksOn(t.db, webhook.Options{})
	t.subscribe(w, "x", e.URL, true, "*")
	t.publish(events("old", 6)...)
	t.exec(`UPDATE {webhook_deliveries} SET state = 1 + feed_seq % 2`)
	t.publish(events("new", 6)...)
	var steps atomic.Int64
	slow := t.hooked(hookdb.Hooks{After: func(query string) error {
		if strings.Contains(query, "attempts = 0, claimed_by = '', settled_ms = 0") && steps.Add(1) == 1 {
			return nil
		}
		if query == hookdb.Commit && steps.Load() == 1 {
			time.Sleep(300 * time.Millisecond) // time enough to send all that is owed
		}
		return nil
	}})
	redelivers := t.webhooksOn(slow, webhook.Options{})
	over := make(chan error, 1)
	go func() {
		n, err := redelivers.Redeliver(t.ctx(), "x", webhook.RedeliverQuery{Done: true, Rate: 500})
		if err == nil && n != 6 {
			err = fmt.Errorf("%d were redelivered, want 6", n)
		}
		over <- err
	}()
	t.eventually("the first step is done", func() bool {
		return t.number(`SELECT COUNT(*) FROM {webhook_deliveries} WHERE state = 0 AND feed_seq <= 6`) > 0
	})
	stop := t.sends(t.webhooks(webhook.Options{}))
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	t.eventually("all are done", func() bool { return t.subscription(w, "x").Done == 12 })
	stop()
	got, _ := e.all()
	equalIDs(t, "requests", got, positions(1, 12))
}
