package conformance

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// sends runs workers until stop is called.
func (t *env) sends(w *webhook.Webhooks) (stop func()) {
	end := t.startRun(w.Run)
	return func() { t.mustStop(end) }
}

func positions(from, to int) (out []string) {
	for n := from; n <= to; n++ {
		out = append(out, strconv.Itoa(n))
	}
	return out
}

func webhookShared(t *env) {
	e := t.endpoint(nil)
	w := t.webhooks(webhook.Options{})
	t.subscribe(w, "all", e.URL, false, "*")
	t.publish(events("e", 60)...)
	for range 3 {
		defer t.sends(t.webhooks(webhook.Options{Parallel: 3}))()
	}
	t.eventually("all are done", func() bool { return t.subscription(w, "all").Done == 60 })
	got, most := e.all()
	sameIDs(t, "requests", got, positions(1, 60))
	if most > 9 {
		t.Errorf("%d requests at once, want at most 9", most)
	}
}

func webhookInOrder(t *env) {
	e := t.endpoint(func(position string, try int) int {
		if strings.HasSuffix(position, "5") && try == 1 {
			return 500
		}
		return 200
	})
	w := t.webhooks(webhook.Options{})
	t.subscribe(w, "all", e.URL, true, "*")
	t.publish(events("e", 30)...)
	for range 3 {
		// A wait that others would have the time to go past.
		defer t.sends(t.webhooks(webhook.Options{Schedule: []time.Duration{150 * time.Millisecond}}))()
	}
	t.eventually("all are done", func() bool { return t.subscription(w, "all").Done == 30 })
	var want []string
	for _, p := range positions(1, 30) {
		if want = append(want, p); strings.HasSuffix(p, "5") {
			want = append(want, p)
		}
	}
	got, most := e.all()
	equalIDs(t, "requests", got, want)
	if most > 1 {
		t.Errorf("%d requests at once", most)
	}
}

// A worker whose every connection is cut, once it has claimed, can neither record nor give back.
func webhookKilled(t *env) {
	for _, ordered := range []bool{false, true} {
		t.space.empty(t.TB)
		e := t.endpoint(func(string, int) int { return 200 })
		w := t.webhooksOn(t.db, webhook.Options{})
		t.subscribe(w, "all", e.URL, ordered, "*")
		t.publish(events("e", 10)...)
		opts := webhook.Options{Timeout: racing.Slow * 500 * time.Millisecond, Lease: racing.Slow * time.Second}
		var claimed, dead atomic.Bool
		db := t.hooked(hookdb.Hooks{Before: func(query string) error {
			if dead.Load() {
				return hookdb.ErrCut
			}
			return nil
		}, After: func(query string) error {
			claimed.Store(claimed.Load() || strings.Contains(query, "SET claimed_by = ") && strings.Contains(query, "webhook_deliveries"))
			if query == hookdb.Commit && claimed.Load() {
				dead.Store(true)
			}
			return nil
		}})
		killed := t.sends(t.webhooksOn(db, opts))
		t.eventually("it has claimed", dead.Load)
		stop := t.sends(t.webhooks(opts))
		t.eventually("all are done", func() bool { return t.subscription(w, "all").Done == 10 })
		stop()
		killed()
		got, _ := e.all()
		times := make(map[string]int)
		for _, p := range got {
			times[p]++
		}
		for _, p := range positions(1, 10) {
			if times[p] < 1 || times[p] > 2 {
				t.Errorf("position %s was sent %d times", p, times[p])
			}
		}
		if ordered { // the second worker's, in order, behind what the first had sent
			equalIDs(t, "requests of the second", got[len(got)-10:], positions(1, 10))
		}
	}
}

func webhookTooLate(t *env) {
	arrived, release := make(chan struct{}), make(chan struct{})
	e := t.endpoint(func(string, int) int {
		arrived <- struct{}{}
		<-release
		return 200
	})
	w := t.webhooks(webhook.Options{})
	t.subscribe(w, "all", e.URL, false, "*")
	t.publish(events("e", 1)...)
	stop := t.sends(w)
	await(t, "the request", arrived)
	t.exec(`UPDATE {webhook_deliveries} SET claimed_by = 'another', due_ms = {clock} + 3600000`)
	close(release)
	stop()
	if n := t.number(`SELECT COUNT(*) FROM {webhook_deliveries} WHERE claimed_by = 'another' AND state = 0 AND attempts = 0`); n != 1 {
		t.Error("the claim of another was changed")
	}
}

// Each of the worker's commits that claim or record is cut once.
func webhookUnheardWorker(t *env) {
	for nth, cut := int64(0), true; cut && !t.Failed(); nth++ {
		t.space.empty(t.TB)
		e := t.endpoint(nil)
		w := t.webhooksOn(t.db, webhook.Options{})
		t.subscribe(w, "all", e.URL, true, "*")
		t.publish(events("e", 20)...)
		var changes atomic.Bool
		var commits atomic.Int64
		base := t.another()
		db := hookdb.Open(base, hookdb.Hooks{After: func(query string) error {
			if strings.HasPrefix(query, "UPDATE") && strings.Contains(query, "webhook_deliveries") {
				changes.Store(true)
			}
			if query == hookdb.Commit && changes.Swap(false) && commits.Add(1) == nth+1 {
				return hookdb.ErrCut
			}
			return nil
		}})
		stop := t.sends(t.webhooksOn(db, webhook.Options{}))
		t.eventually("all are done", func() bool { return t.subscription(w, "all").Done == 20 })
		stop()
		_, _ = db.Close(), base.Close()
		if n := t.number(`SELECT COUNT(*) FROM {webhook_deliveries} WHERE attempts <> 1`); n != 0 {
			t.Errorf("%d deliveries have more than their one try", n)
		}
		got, _ := e.all()
		equalIDs(t, "requests", got, positions(1, 20))
		cut = commits.Load() > nth
	}
}
