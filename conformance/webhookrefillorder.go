package conformance

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// afterFirstStep are hooks for a refill: between is called when the transaction that makes its first deliveries has committed.
func afterFirstStep(between func() error) hookdb.Hooks {
	var made, over atomic.Bool
	return hookdb.Hooks{After: func(query string) error {
		made.Store(made.Load() || isDelivery(query))
		if query == hookdb.Commit && made.Load() && over.CompareAndSwap(false, true) {
			return between()
		}
		return nil
	}}
}

// missedTwice has an ordered subscription miss 2 to 3 and 8 to 9, and be owed 10 to 12.
func (t *env) missedTwice(w *webhook.Webhooks, url string) {
	t.Helper()
	t.subscribe(w, "x", url, true, "*")
	for _, round := range []string{"1.", "2."} {
		t.must(w.Pause(t.ctx(), "x"))
		t.publish(events(round+"kept", 1)...)
		t.publish(events(round+"missed", 2)...)
		t.must(w.Resume(t.ctx(), "x"))
		t.publish(events(round+"delivered", 3)...)
	}
	t.exec(`UPDATE {webhook_deliveries} SET state = 1 WHERE state = 0 AND feed_seq < 10`)
}

// A worker sends what is due between two steps, and has time enough to send all that is owed.
func webhookRefilledInOrder(t *env) {
	for _, x := range []struct {
		what    string
		prepare func(w *webhook.Webhooks, url string)
		refill  func(w *webhook.Webhooks) (int, error)
		want    []string
	}{
		{"what was missed", func(w *webhook.Webhooks, url string) { t.missedTwice(w, url) },
			func(w *webhook.Webhooks) (int, error) { return w.Refill(t.ctx(), "x", 1) },
			append(positions(2, 3), positions(8, 12)...)},
		{"a range", func(w *webhook.Webhooks, url string) { // a step looks at 500 events
			wanted := func(prefix string, n int) []outbox.Event {
				all := events(prefix, n)
				for i := range all {
					all[i].Topic = "wanted"
				}
				return all
			}
			t.publish(wanted("first", 2)...)
			t.publish(events("others", 500)...)
			t.publish(wanted("last", 2)...)
			t.subscribe(w, "x", url, true, "wanted")
			t.publish(wanted("owed", 3)...)
		}, func(w *webhook.Webhooks) (int, error) { return w.RefillRange(t.ctx(), "x", 1, 0) },
			append(positions(1, 2), positions(503, 507)...)},
	} {
		t.space.empty(t.TB)
		e := t.endpoint(nil)
		w := t.webhooksOn(t.db, webhook.Options{KeepPaused: 1})
		x.prepare(w, e.URL)
		stepped := make(chan struct{})
		slow := t.hooked(afterFirstStep(func() error {
			close(stepped)
			holdsWithin(400*time.Millisecond, func() bool { got, _ := e.all(); return len(got) == len(x.want)-2 })
			return nil
		}))
		over := make(chan error, 1)
		go func() {
			n, err := x.refill(t.webhooksOn(slow, webhook.Options{}))
			if err == nil && n != 4 {
				err = fmt.Errorf("%d were refilled, want 4", n)
			}
			over <- err
		}()
		await(t, "the first step is done", stepped)
		stop := t.sends(t.webhooks(webhook.Options{}))
		t.must(await(t, "the refill ends", over))
		t.eventually("all are done", func() bool { got, _ := e.all(); return len(got) >= len(x.want) })
		stop()
		got, _ := e.all()
		equalIDs(t, x.what+": requests", got, x.want)
	}
}

// A process that is killed between two steps can't end the wait of the first delivery.
func webhookRefillKilled(t *env) {
	e := t.endpoint(nil)
	w := t.webhooksOn(t.db, webhook.Options{KeepPaused: 1})
	t.missedTwice(w, e.URL)
	var dead atomic.Bool
	hooks := afterFirstStep(func() error { dead.Store(true); return nil })
	hooks.Before = func(string) error {
		if dead.Load() {
			return hookdb.ErrCut
		}
		return nil
	}
	if n, err := t.webhooksOn(t.hooked(hooks), webhook.Options{}).Refill(t.ctx(), "x", 1); n != 2 || err == nil {
		t.Errorf("killed behind a step of 2: refilled %d, %v", n, err)
	}
	if n := t.number(`SELECT due_ms - {clock} FROM {webhook_deliveries} WHERE feed_seq = 2`); n <= 0 || n > 60_000 {
		t.Errorf("the first one is due in %d ms", n)
	}
	t.wantRefill(w, "x", 1, 2) // another call goes on
	t.exec(`UPDATE {webhook_deliveries} SET due_ms = due_ms - 60000 WHERE state = 0`)
	stop := t.sends(t.webhooks(webhook.Options{}))
	t.eventually("all are done", func() bool { return t.subscription(w, "x").Pending == 0 })
	stop()
	got, _ := e.all()
	equalIDs(t, "requests", got, append(positions(2, 3), positions(8, 12)...))
}
