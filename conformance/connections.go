package conformance

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/relay"
)

func connectionRules() []rule {
	var rules []rule
	for _, both := range [][]rule{
		inEach("a connection cut before any statement of a relay's life loses nothing", cutBefore),
		inEach("a commit whose answer is lost loses nothing", cutCommit),
		inEach("a database that is away at the start is waited for", awayAtStart),
		inEach("a database that goes away in mid-run is waited for", awayInMidRun),
		inEach("an outcome that can't be recorded before its lease is over counts as refused", awayTooLong),
	} {
		rules = append(rules, both...)
	}
	return append(rules,
		rule{"a take-over whose commit was not heard of costs nobody a lease", func(t *env) { unheard(t, relay.OrderTotal, "UPDATE {leases}") }},
		rule{"partitions taken by a commit that was not heard of cost nobody a lease", func(t *env) { unheard(t, relay.OrderPerKey, "UPDATE {leases}") }},
		rule{"a start whose commit was not heard of costs nobody a lease, total", func(t *env) { unheard(t, relay.OrderTotal, "INSERT INTO {relays}") }},
		rule{"a start whose commit was not heard of costs nobody a lease, per key", func(t *env) { unheard(t, relay.OrderPerKey, "INSERT INTO {relays}") }})
}

// unheard: the relay owns something for half a minute and does not know it. Either it finds out, or it leaves it free; in
// no case has everybody to wait for it.
func unheard(t *env, order relay.Order, statement string) {
	ids := t.write(manyKeys("e", 20)...)
	statement = t.sql.SQL(statement)
	var taking, cut atomic.Bool
	db := t.hooked(hookdb.Hooks{After: func(query string) error {
		if strings.HasPrefix(query, statement) {
			taking.Store(true)
		}
		if query == hookdb.Commit && taking.Load() && cut.CompareAndSwap(false, true) {
			return hookdb.ErrCut
		}
		return nil
	}})
	p := &receiver{}
	stop := t.start(t.relayOn(t.outboxOn(db, nil), p, quick(order)))
	limit := min(t.h.Patience, 12*time.Second)
	if !holdsWithin(limit, func() bool { return len(p.ids()) == len(ids) }) {
		t.Errorf("not within %v: it gets what is its own: handed over %q", limit, p.ids())
	}
	if !cut.Load() {
		t.Error("no commit of it was seen")
	}
	t.mustStop(stop)
}

// A cut after a statement inside of a transaction is a cut before the next one; only after COMMIT is it another matter.
func cutBefore(t *env, order relay.Order) {
	for n := int64(1); ; n++ {
		var seen atomic.Int64
		cut := cutRun(t, order, n, hookdb.Hooks{Before: func(string) error {
			if seen.Add(1) == n {
				return hookdb.ErrCut
			}
			return nil
		}})
		if !cut(seen.Load() >= n) {
			return
		}
	}
}

func cutCommit(t *env, order relay.Order) {
	for n := int64(1); ; n++ {
		var seen atomic.Int64
		cut := cutRun(t, order, n, hookdb.Hooks{After: func(query string) error {
			if query == hookdb.Commit && seen.Add(1) == n {
				return hookdb.ErrCut
			}
			return nil
		}})
		if !cut(seen.Load() >= n) {
			return
		}
	}
}

// failsOnce fails the first hand-over of one event.
func failsOnce(id string) *receiver {
	return &receiver{answer: func(_ context.Context, m relay.Message) error {
		if m.ID == id && m.Attempt == 1 {
			return relay.RetryAfter(0, errNo)
		}
		return nil
	}}
}

// cutRun runs a relay over a few events while the hooks cut one statement, the nth, and checks what came of it. The
// answer is false when there was nothing left to cut.
func cutRun(t *env, order relay.Order, n int64, h hookdb.Hooks) (more func(cut bool) bool) {
	t.Helper()
	t.space.empty(t.TB)
	ids := t.write(events("e", 4)...)
	p := failsOnce(ids[1])
	base := t.another()
	db := hookdb.Open(base, h)
	opts := quick(order)
	// A claim whose commit was not heard of lapses.
	opts.Lease = racing.Slow * time.Second
	stop := t.start(t.relayOn(t.outboxOn(db, nil), p, opts))
	done := holdsWithin(t.h.Patience, func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) == 0 })
	if err := stop(); err != nil {
		t.Errorf("cut %d: the relay ended with: %v", n, err)
	}
	_, _ = db.Close(), base.Close()
	if !done {
		t.Fatalf("not within %v: cut %d: the relay recovers:%s\nhanded over: %q", t.h.Patience, n, describe(t.records()), p.ids())
	}
	checkCut(t, order, n, ids, p)
	return func(cut bool) bool {
		if n > 200 {
			t.Fatal("there is no end of statements")
		}
		return cut && !t.Failed()
	}
}

func checkCut(t *env, order relay.Order, n int64, ids []string, p *receiver) {
	for _, id := range ids {
		got := p.of(id)
		tries := 1
		if id == ids[1] {
			tries = 2
		}
		if len(got) < tries || len(got) > 2*tries {
			t.Errorf("cut %d: event %s was handed over %d times, want %d and one more at most for each", n, id, len(got), tries)
		}
		for _, m := range got {
			if m.Attempt > tries {
				t.Errorf("cut %d: event %s was charged for the connection: attempt %d", n, id, m.Attempt)
			}
		}
	}
	if got := firsts(p.ids()); order == relay.OrderTotal && !slices.Equal(got, ids) {
		t.Errorf("cut %d: first hand-overs %q, want %q", n, got, ids)
	}
}

// switchable is a pool whose database can be taken away.
func (t *env) switchable(away *atomic.Bool) relayPool {
	refuse := func(string) error {
		if away.Load() {
			return hookdb.ErrCut
		}
		return nil
	}
	return relayPool{t, hookdb.Hooks{Before: refuse}}
}

type relayPool struct {
	t *env
	h hookdb.Hooks
}

func (x relayPool) relay(p relay.Publisher, opts *relay.Options) *relay.Relay {
	x.t.Helper()
	return x.t.relayOn(x.t.outboxOn(x.t.hooked(x.h), nil), p, opts)
}

func awayAtStart(t *env, order relay.Order) {
	var away atomic.Bool
	away.Store(true)
	ids := t.write(events("e", 2)...)
	p := &receiver{}
	stop := t.start(t.switchable(&away).relay(p, quick(order)))
	passes(t, 100*time.Millisecond)
	away.Store(false)
	t.eventually("it works when the database is back", func() bool { return len(p.ids()) >= 2 })
	t.mustStop(stop)
	sameIDs(t, "handed over", p.ids(), ids)
}

func awayInMidRun(t *env, order relay.Order) {
	var away atomic.Bool
	p := &receiver{}
	opts := quick(order)
	opts.Lease = time.Second
	stop := t.start(t.switchable(&away).relay(p, opts))
	var ids []string
	for _, e := range events("e", 3) {
		ids = append(ids, t.write(e)...)
		t.eventually("it works", func() bool { return len(firsts(p.ids())) == len(ids) })
		away.Store(true)
		passes(t, 100*time.Millisecond)
		away.Store(false)
	}
	ids = append(ids, t.write(events("last", 1)...)...)
	t.eventually("it works when the database is back", func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) == 0 })
	t.mustStop(stop)
	sameIDs(t, "first hand-overs", firsts(p.ids()), ids)
	for _, m := range p.messages() {
		if m.Attempt != 1 {
			t.Errorf("event %s was charged for the connection: attempt %d", m.ID, m.Attempt)
		}
	}
}

// The hand-over ends when the lease is over, and the database is away for longer.
func awayTooLong(t *env, order relay.Order) {
	ids := t.write(events("e", 1)...)
	var away, once atomic.Bool
	db := t.hooked(hookdb.Hooks{Before: func(string) error {
		if away.Load() {
			return hookdb.ErrCut
		}
		return nil
	}})
	p := &receiver{answer: func(ctx context.Context, _ relay.Message) error {
		if once.CompareAndSwap(false, true) {
			away.Store(true)
			<-ctx.Done()
		}
		return nil
	}}
	opts := quick(order)
	opts.Lease = racing.Slow * time.Second
	r := t.relayOn(t.outboxOn(db, nil), p, opts)
	stop := t.start(r)
	t.eventually("the outcome is given up", func() bool { return r.Refused() > 0 })
	away.Store(false)
	t.eventually("it is published", func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) == 0 })
	t.mustStop(stop)
	if got := p.of(ids[0]); len(got) != 2 || r.Refused() != 1 {
		t.Errorf("%d hand-overs, %d outcomes refused; want two and one", len(got), r.Refused())
	}
}
