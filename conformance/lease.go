package conformance

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func leaseRules() []rule {
	return []rule{
		{"a second relay stands by", leaseStandBy},
		{"a lost lease cannot settle", leaseLate},
		{"a lease that ran out cannot be renewed", leaseNoRenewal},
		{"a lease that ran out is taken over", leaseTakeover},
		{"a lease that is further ahead than it is long counts as over", leaseAhead},
		{"a lease is renewed while a publisher takes its time", leaseRenewed},
		{"the token grows with every owner, and messages carry it", leaseToken},
		{"a relay that stops hands over at once", leaseHandOver},
		{"of many relays one works", leaseOne},
	}
}

// gate is a publisher that holds its hand-overs until it is opened.
type gate struct {
	receiver
	entered chan relay.Message
	open    chan struct{}
}

func newGate() *gate {
	return &gate{entered: make(chan relay.Message, 1000), open: make(chan struct{})}
}

func (g *gate) Publish(ctx context.Context, m relay.Message) error {
	g.entered <- m
	<-g.open
	return g.receiver.Publish(ctx, m)
}

// pass starts RunOnce in the background.
func (t *env) pass(r *relay.Relay) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := r.RunOnce(t.ctx())
		done <- err
	}()
	return done
}

func leaseStandBy(t *env) {
	ids := t.write(events("e", 3)...)
	g, second := newGate(), &receiver{}
	a, b := t.otherRelay(g, quick(relay.OrderTotal)), t.otherRelay(second, quick(relay.OrderTotal))
	done := t.pass(a)
	await(t, "the first relay hands over", g.entered)
	if n := t.once(b); n != 0 || len(second.ids()) != 0 {
		t.Errorf("the second relay handed over %q", second.ids())
	}
	close(g.open)
	if err := await(t, "the first relay is done", done); err != nil {
		t.Error(err)
	}
	equalIDs(t, "the first handed over", g.ids(), ids)
}

// The owner is paused in the middle of a hand-over for longer than its lease, and wakes up while another is at work: what
// that one has in hand must stay as it is.
func leaseLate(t *env) {
	ids := t.write(events("e", 3)...)
	g, second := newGate(), newGate()
	a, b := t.otherRelay(g, quick(relay.OrderTotal)), t.otherRelay(second, quick(relay.OrderTotal))
	doneA := t.pass(a)
	await(t, "the first relay hands over", g.entered)
	t.expireLease()
	doneB := t.pass(b)
	await(t, "the new owner hands over", second.entered)
	before := t.records()
	close(g.open)
	if err := await(t, "the late owner is done", doneA); err != nil {
		t.Error(err)
	}
	if a.Refused() == 0 {
		t.Error("the late owner's outcomes were not counted as refused")
	}
	if after := t.records(); len(before) != 3 || !slices.Equal(before, after) {
		t.Errorf("the late owner changed something: before:%s\nafter:%s", describe(before), describe(after))
	}
	close(second.open)
	if err := await(t, "the new owner is done", doneB); err != nil {
		t.Error(err)
	}
	t.makeDue()
	t.drain(b)
	equalIDs(t, "the new owner handed over", second.ids(), ids)
	if all := t.records(); len(all) != 0 || b.Refused() != 0 {
		t.Errorf("%d outcomes of the new owner were refused, left:%s", b.Refused(), describe(all))
	}
}

func leaseNoRenewal(t *env) { noRenewal(t, relay.OrderTotal) }

// noRenewal ends by the database's clock what a relay owns while it hands over. Nobody else is there to take it: the owner
// must see by itself that it is no longer one, and goes on as another.
func noRenewal(t *env, order relay.Order) {
	t.write(keyed("k", 2)...)
	causes, entered := make(chan error, 10), make(chan relay.Message, 10)
	p := &receiver{answer: func(ctx context.Context, m relay.Message) error {
		entered <- m
		if m.Token > 1 {
			return nil
		}
		select {
		case <-ctx.Done():
			causes <- context.Cause(ctx)
		case <-time.After(t.h.Patience):
			causes <- errors.New("it was renewed, or its end not seen")
		}
		return errNo
	}}
	opts := quick(order)
	opts.Lease = racing.Slow * 600 * time.Millisecond // renewed each third of it
	stop := t.start(t.otherRelay(p, opts))
	first := await(t, "it hands over", entered)
	t.fell(order)
	if cause := await(t, "the hand-over is cut off", causes); !errors.Is(cause, relay.ErrLeaseLost) {
		t.Errorf("the hand-over's context ended with %v, want relay.ErrLeaseLost", cause)
	}
	next := await(t, "it goes on", entered)
	if next.Token <= first.Token || next.ID != first.ID || next.Attempt != 2 { // nobody else has it, so that its failure counts
		t.Errorf("it goes on with %s, attempt %d, under token %d, after %s under %d", next.ID, next.Attempt, next.Token, first.ID, first.Token)
	}
	t.eventually("all is published", func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) == 0 })
	t.mustStop(stop)
}

func leaseTakeover(t *env) {
	ids := t.write(events("e", 2)...)
	t.exec(`INSERT INTO {leases} (name, owner, token, since_ms, until_ms, lease_ms) VALUES (?, ?, ?, {clock}, {clock} + 500, ?)`, "total", "gone", int64(7), int64(500))
	until := t.number(`SELECT until_ms FROM {leases} WHERE name = 'total'`)
	p := &receiver{}
	r := t.otherRelay(p, quick(relay.OrderTotal))
	t.once(r)
	t.drain(r) // waits for it
	if since := t.number(`SELECT since_ms FROM {leases} WHERE name = 'total'`); since < until {
		t.Errorf("the lease was taken %d ms early", until-since)
	}
	equalIDs(t, "handed over", p.ids(), ids)
	if token := p.messages()[0].Token; token != 8 {
		t.Errorf("the token is %d, want 8", token)
	}
}

// Only a clock that was set back can leave such a lease behind; nobody must wait for it.
func leaseAhead(t *env) {
	ids := t.write(events("e", 1)...)
	t.exec(`INSERT INTO {leases} (name, owner, token, since_ms, until_ms, lease_ms) VALUES (?, ?, ?, {clock}, {clock} + 86400000, ?)`, "total", "gone", int64(1), int64(30_000))
	p := &receiver{}
	t.once(t.otherRelay(p, quick(relay.OrderTotal)))
	equalIDs(t, "handed over", p.ids(), ids)
}

func leaseRenewed(t *env) {
	t.write(events("e", 1)...)
	g := newGate()
	opts := quick(relay.OrderTotal)
	opts.Lease = racing.Slow * 900 * time.Millisecond
	a, b := t.otherRelay(g, opts), t.otherRelay(&receiver{}, quick(relay.OrderTotal))
	done := t.pass(a)
	await(t, "it hands over", g.entered)
	until := t.number(`SELECT until_ms FROM {leases}`)
	t.eventually("the lease would have run out", func() bool { return t.number(readClock) > until })
	if n := t.once(b); n != 0 {
		t.Error("another relay took the lease")
	}
	close(g.open)
	if err := await(t, "it is done", done); err != nil {
		t.Errorf("its outcome was not recorded: %v", err)
	}
	if all := t.records(); len(all) != 0 {
		t.Errorf("left:%s", describe(all))
	}
}

func leaseToken(t *env) {
	last := int64(0)
	for i := range 4 {
		t.write(events("e", 2)...)
		p := &receiver{}
		t.drain(t.otherRelay(p, quick(relay.OrderTotal)))
		token := p.messages()[0].Token
		if token <= last || p.messages()[1].Token != token {
			t.Errorf("owner %d hands over under tokens %d and %d, after %d", i, token, p.messages()[1].Token, last)
		}
		last = token
	}
	if token := t.number(`SELECT token FROM {leases} WHERE name = 'total'`); token != last {
		t.Errorf("the lease's token is %d, want %d", token, last)
	}
}

func leaseHandOver(t *env) {
	first, second := &receiver{}, &receiver{}
	stop := t.start(t.otherRelay(first, quick(relay.OrderTotal))) // a lease of 30 s
	one := t.write(events("one", 1)...)
	t.eventually("the first works", func() bool { return len(first.ids()) == 1 })
	stop2 := t.start(t.otherRelay(second, quick(relay.OrderTotal)))
	t.mustStop(stop)
	began := time.Now()
	two := t.write(events("two", 1)...)
	t.eventually("the second works", func() bool { return len(second.ids()) == 1 })
	if waited := time.Since(began); waited > 25*time.Second {
		t.Errorf("it took %v to hand over", waited)
	}
	t.mustStop(stop2)
	equalIDs(t, "the first handed over", first.ids(), one)
	equalIDs(t, "the second handed over", second.ids(), two)
	if owner := t.number(`SELECT COUNT(*) FROM {leases} WHERE owner <> ''`); owner != 0 {
		t.Error("the lease was not given back")
	}
	if n := t.number(`SELECT COUNT(*) FROM {relays}`); n != 0 {
		t.Errorf("%d relays left their row behind", n)
	}
}

func leaseOne(t *env) {
	var inside, most atomic.Int64
	p := &receiver{answer: func(context.Context, relay.Message) error {
		n := inside.Add(1)
		defer inside.Add(-1)
		if n > most.Load() {
			most.Store(n)
		}
		return nil
	}}
	var stops []func() error
	for range 3 {
		stops = append(stops, t.start(t.otherRelay(p, quick(relay.OrderTotal))))
	}
	var want []string
	for i := range 20 {
		want = append(want, t.write(outbox.Event{Topic: "t"}, outbox.Event{Topic: "t"})...)
		if i == 10 {
			t.mustStop(stops[0])
		}
	}
	t.eventually("all is handed over", func() bool { return len(p.ids()) >= len(want) })
	for _, stop := range stops[1:] {
		t.mustStop(stop)
	}
	equalIDs(t, "handed over", p.ids(), want)
	if most.Load() != 1 {
		t.Errorf("%d hand-overs at once", most.Load())
	}
}
