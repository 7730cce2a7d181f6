package conformance

import (
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func retentionRules() []rule {
	rules := inEach("without retention a published event is deleted when it is settled", retentionNone)
	rules = append(rules, inEach("with retention a published event is kept, and not handed over again", retentionKeeps)...)
	return append(rules,
		rule{"purge deletes what is old enough, and nothing else", purgeOld},
		rule{"dead letters are never purged unless that is asked for", purgeDeadNever},
		rule{"dead letters are purged by their own age where that is asked for", purgeDeadAsked},
		rule{"a relay purges by itself", purgeByRelay},
		rule{"several may purge at once", purgeTogether})
}

func retentionNone(t *env, order relay.Order) {
	t.write(events("e", 5)...)
	t.drain(t.relay(&receiver{}, quick(order)))
	if all := t.records(); len(all) != 0 {
		t.Errorf("left:%s", describe(all))
	}
}

func retentionKeeps(t *env, order relay.Order) {
	t.write(events("e", 5)...)
	opts := quick(order)
	opts.Retention = time.Hour
	p := &receiver{}
	r := t.relay(p, opts)
	t.drain(r)
	t.drain(r)
	for _, x := range t.records() {
		if x.state != published || x.attempts != 1 || x.total != 1 || x.settled == 0 {
			t.Errorf("want it published:%s", describe([]record{x}))
		}
	}
	if s, err := t.o.Stats(t.ctx()); err != nil || s.Published != 5 || s.Pending != 0 {
		t.Errorf("stats %+v, %v", s, err)
	}
	if len(p.ids()) != 5 {
		t.Errorf("handed over %q", p.ids())
	}
	if _, err := t.tryWrite(t.o, events("e", 1)...); err == nil {
		t.Error("the id of a kept event was taken again")
	}
}

// old leaves n events of a state that were settled some time ago.
func (t *env) old(prefix string, n int, state int64, age time.Duration) {
	t.write(events(prefix, n)...)
	t.exec(`UPDATE {events} SET state = ?, attempts = 1, total_attempts = 1, first_failed_ms = 1, settled_ms = {clock} - ? WHERE state = 0`, state, age.Milliseconds())
	t.exec(`UPDATE {events} SET due_ms = settled_ms WHERE state = ?`, state)
}

func (t *env) purge(opts outbox.PurgeOptions, want int) {
	t.Helper()
	if n, err := t.o.Purge(t.ctx(), opts); n != want || err != nil {
		t.Errorf("purge %+v: %d, %v; want %d", opts, n, err, want)
	}
}

func purgeOld(t *env) {
	t.old("old", 1200, published, 2*time.Hour)
	t.old("new", 5, published, time.Minute)
	t.write(events("pending", 3)...)
	t.exec(`UPDATE {events} SET due_ms = 1, created_ms = 1 WHERE state = 0`)
	t.purge(outbox.PurgeOptions{}, 0)
	t.purge(outbox.PurgeOptions{Published: time.Hour}, 1200)
	t.purge(outbox.PurgeOptions{Published: time.Hour}, 0)
	if n := len(t.records()); n != 8 {
		t.Errorf("%d events are left, want 8", n)
	}
}

const year = 365 * 24 * time.Hour

func purgeDeadNever(t *env) {
	t.old("dead", 3, dead, year)
	t.purge(outbox.PurgeOptions{Published: time.Hour}, 0)
	opts := quick(relay.OrderTotal)
	opts.Retention, opts.PurgeEvery = time.Millisecond, 5*time.Millisecond
	p := &receiver{}
	stop := t.start(t.otherRelay(p, opts))
	t.write(events("e", 1)...)
	t.eventually("a published event is purged", func() bool { return len(p.ids()) == 1 && len(t.records()) == 3 })
	t.mustStop(stop)
	if n := len(t.deadIDs(outbox.DeadLetterQuery{})); n != 3 {
		t.Errorf("%d dead letters are left, want 3", n)
	}
}

func purgeDeadAsked(t *env) {
	t.old("dead", 3, dead, year)
	t.old("fresh", 2, dead, time.Minute)
	t.purge(outbox.PurgeOptions{Dead: 24 * time.Hour}, 3)
	if n := len(t.deadIDs(outbox.DeadLetterQuery{})); n != 2 {
		t.Errorf("%d dead letters are left, want 2", n)
	}
}

func purgeByRelay(t *env) {
	for _, order := range []relay.Order{relay.OrderTotal, relay.OrderNone} {
		t.old("old"+order.String(), 20, published, 2*time.Hour)
		t.old("dead"+order.String(), 20, dead, 2*time.Hour)
		opts := quick(order)
		opts.Retention, opts.DeadRetention, opts.PurgeEvery = time.Hour, time.Hour, 10*time.Millisecond
		stop := t.start(t.otherRelay(&receiver{}, opts))
		t.eventually("it is purged", func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) == 0 })
		t.mustStop(stop)
	}
}

func purgeTogether(t *env) {
	t.old("old", 1500, published, 2*time.Hour)
	var mu sync.Mutex
	sum := 0
	t.together(4, func(i int, o *outbox.Outbox) error {
		n, err := o.Purge(t.ctx(), outbox.PurgeOptions{Published: time.Hour})
		mu.Lock()
		defer mu.Unlock()
		sum += n
		return err
	})
	t.purge(outbox.PurgeOptions{Published: time.Hour}, 1500-sum)
	if n := len(t.records()); n != 0 {
		t.Errorf("%d events are left", n)
	}
}
