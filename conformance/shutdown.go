package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

func shutdownRules() []rule {
	var rules []rule
	for _, both := range [][]rule{
		inEach("a relay that stops finishes what is in hand and records it", shutdownFinishes),
		inEach("a hand-over that outlasts ShutdownTimeout is cut off and not charged", shutdownCuts),
		inEach("a relay runs once at a time", shutdownRunning),
		inEach("a relay can run again", shutdownAgain),
	} {
		rules = append(rules, both...)
	}
	return rules
}

func shutdownFinishes(t *env, order relay.Order) {
	t.write(events("e", 3)...)
	g := newGate()
	opts := quick(order)
	if order != relay.OrderTotal {
		opts.Concurrency = 1
	}
	ctx, cancel := context.WithCancel(t.ctx())
	done := make(chan error, 1)
	r := t.otherRelay(g, opts)
	go func() { done <- r.Run(ctx) }()
	await(t, "it hands over", g.entered)
	cancel()
	passes(t, 20*time.Millisecond)
	close(g.open)
	if err := await(t, "it stops", done); err != nil {
		t.Errorf("Run: %v", err)
	}
	if got := g.ids(); len(got) != 1 {
		t.Errorf("handed over %q, want the one that was under way", got)
	}
	all := t.records()
	if len(all) != 2 {
		t.Errorf("what was published was not recorded:%s", describe(all))
	}
	for _, x := range all {
		if x.attempts != 0 || x.claimedBy != "" || x.due > t.number(readClock) {
			t.Errorf("what was not handed over was not given back:%s", describe([]record{x}))
		}
	}
	// At once: nobody has to wait for the lease or a claim.
	p := &receiver{}
	if n := t.once(t.otherRelay(p, quick(order))); n != 2 {
		t.Errorf("the next relay published %d, want 2", n)
	}
}

func shutdownCuts(t *env, order relay.Order) {
	shutdownCut(t, order, context.Context.Err)
	shutdownCut(t, order, context.Cause) // as net/http answers
}

func shutdownCut(t *env, order relay.Order, why func(context.Context) error) {
	t.write(events("e", 1)...)
	entered := make(chan struct{}, 1)
	p := &receiver{answer: func(ctx context.Context, _ relay.Message) error {
		entered <- struct{}{}
		<-ctx.Done()
		return fmt.Errorf("post: %w", why(ctx))
	}}
	opts := quick(order)
	opts.ShutdownTimeout = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(t.ctx())
	done := make(chan error, 1)
	r := t.otherRelay(p, opts)
	go func() { done <- r.Run(ctx) }()
	await(t, "it hands over", entered)
	cancel()
	if err := await(t, "it stops", done); err != nil {
		t.Errorf("Run: %v", err)
	}
	if x := t.records(); len(x) != 1 || x[0].attempts != 0 || x[0].total != 0 || x[0].claimedBy != "" || x[0].state != pending {
		t.Errorf("want it pending and not charged:%s", describe(x))
	}
	after := &receiver{}
	if n := t.once(t.otherRelay(after, quick(order))); n != 1 || after.messages()[0].Attempt != 1 {
		t.Errorf("the next relay handed over %+v", after.messages())
	}
}

func shutdownRunning(t *env, order relay.Order) {
	t.write(events("e", 1)...)
	g := newGate()
	r := t.otherRelay(g, quick(order))
	done := t.pass(r)
	await(t, "it hands over", g.entered)
	if err := r.Run(t.ctx()); !errors.Is(err, relay.ErrRunning) {
		t.Errorf("Run: %v, want relay.ErrRunning", err)
	}
	if _, err := r.Drain(t.ctx()); !errors.Is(err, relay.ErrRunning) {
		t.Errorf("Drain: %v, want relay.ErrRunning", err)
	}
	close(g.open)
	if err := await(t, "it is done", done); err != nil {
		t.Error(err)
	}
}

func shutdownAgain(t *env, order relay.Order) {
	p := &receiver{}
	r := t.otherRelay(p, quick(order))
	for i := range 3 {
		stop := t.start(r)
		t.write(events(string(rune('a'+i)), 2)...)
		t.eventually("it works", func() bool { return len(p.ids()) == 2*(i+1) })
		t.mustStop(stop)
	}
}
