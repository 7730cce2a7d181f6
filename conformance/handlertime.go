package conformance

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlerTimeRules() []rule {
	rules := inEach("a handler that hangs until its time is over leaves those behind it theirs", handlerHangs)
	rules = append(rules, inEach("a handler in a transaction that hangs is dead after its attempts, and costs nobody the lease", handlerOverLease)...)
	return append(rules,
		rule{"a handler that makes few calls at once keeps no other waiting, per key", func(t *env) { handlerFew(t, relay.OrderPerKey) }},
		rule{"a handler that makes few calls at once keeps no other waiting, none", func(t *env) { handlerFew(t, relay.OrderNone) }},
		rule{"what a handler waits for before it runs is neither counted nor charged", handlerWaitsForRoom},
		rule{"a time-out that a handler can't have is refused", handlerTimeoutRefused})
}

// untilOver is what hangs for as long as it may.
func untilOver(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func handlerHangs(t *env, order relay.Order) {
	c := t.crew()
	opts := quick(order)
	opts.MaxAttempts, opts.PublishTimeout = 2, 500*time.Millisecond // it bounds what is waited for too, such as a slow disk
	var hangs atomic.Int64
	first := relay.Handler{Name: "hangs", Topics: []string{"*"}, From: relay.FromOldest, NoTx: func(ctx context.Context, _ relay.Message) error {
		hangs.Add(1)
		return untilOver(ctx)
	}}
	t.write(events("e", 1)...)
	t.runUntilSettled(c.with(t.o, opts, nil, first, c.one("behind", func(ctx context.Context, _ *sql.Tx, _ relay.Message) error {
		if hangs.Load() > 1 {
			t.Errorf("it had to wait for %d calls of the one that hangs", hangs.Load())
		}
		return ctx.Err()
	})), 1)
	c.wantCalls("behind one that hangs", map[string]int{"behind": 1})
	c.wantEffects("behind one that hangs", map[string]int{"behind": 1})
	if hangs.Load() != 2 {
		t.Errorf("the one that hangs was called %d times, want 2", hangs.Load())
	}
}

// With one writer the lease can't be renewed while it runs.
func handlerOverLease(t *env, order relay.Order) {
	c := t.crew()
	opts := quick(order)
	opts.MaxAttempts, opts.Lease, opts.PublishTimeout = 2, racing.Slow*1600*time.Millisecond, 20*time.Second
	if !t.oneWriter() {
		opts.PublishTimeout = 300 * time.Millisecond
	}
	slow := c.one("slow", func(ctx context.Context, _ *sql.Tx, _ relay.Message) error { return untilOver(ctx) })
	t.write(events("e", 3)...)
	r := c.with(t.o, opts, nil, slow)
	t.runUntilSettled(r, 3)
	c.wantCalls("longer than the lease", map[string]int{"slow": 6})
	c.wantEffects("longer than the lease", map[string]int{"slow": 0})
	if r.Refused() != 0 {
		t.Errorf("%d outcomes came too late", r.Refused())
	}
}

func handlerWaitsForRoom(t *env) {
	const each = 60 * time.Millisecond
	for name, long := range map[string]struct{ timeout, publish time.Duration }{
		"longer than its time-out":          {5 * each, 10 * time.Second},
		"longer than an event's time to go": {0, 5 * each},
	} {
		var calls, over atomic.Int64
		one := relay.Handler{Name: "a", Topics: []string{"*"}, From: relay.FromOldest, Concurrency: 1, Timeout: long.timeout,
			NoTx: func(ctx context.Context, _ relay.Message) error {
				calls.Add(1)
				if ctx.Err() != nil {
					over.Add(1)
				}
				time.Sleep(each) // its work: the others wait meanwhile for longer than they may run
				return ctx.Err()
			}}
		opts := quick(relay.OrderNone)
		opts.MaxAttempts, opts.PublishTimeout = 2, long.publish
		t.write(events("e", 12)...)
		t.runUntilSettled(t.crew().with(t.o, opts, nil, one), 0)
		if calls.Load() != 12 || over.Load() != 0 {
			t.Errorf("%s: %d calls, %d of them when their time was over; want 12 and 0", name, calls.Load(), over.Load())
		}
		t.empty(t)
	}
}

func handlerTimeoutRefused(t *env) {
	for timeout, want := range map[time.Duration]bool{time.Second: false, 5 * time.Second: t.oneWriter(), 20 * time.Second: true} {
		h, err := relay.NewHandlers(t.o, nil)
		if err != nil {
			t.Fatal(err)
		}
		one := relay.Handler{Name: "slow", Topics: []string{"*"}, Tx: refuse, Timeout: timeout}
		if err := h.Add(one); err != nil {
			t.Fatal(err)
		}
		_, err = relay.New(t.o, h, &relay.Options{Lease: 10 * time.Second, PublishTimeout: 10 * time.Second})
		if want != errors.Is(err, outbox.ErrInvalidOptions) || want && !strings.Contains(err.Error(), `"slow"`) {
			t.Errorf("Timeout %v: %v", timeout, err)
		}
	}
}

// Its events come first, and there are more of them than a relay has in hand.
func handlerFew(t *env, order relay.Order) {
	c := t.crew()
	through := make(chan struct{})
	few := relay.Handler{Name: "few", Topics: []string{"few"}, From: relay.FromOldest, Concurrency: 1, NoTx: func(_ context.Context, m relay.Message) error {
		c.called("few", m)
		<-through
		return nil
	}}
	var list []outbox.Event
	for i := range 60 {
		list = append(list, outbox.Event{ID: fmt.Sprint("few ", i), Topic: "few", Key: fmt.Sprint("few ", i)})
	}
	t.write(append(list, events("e", 20)...)...)
	opts := quick(order)
	opts.Batch, opts.PublishTimeout = 20, t.h.Patience
	stop := t.start(c.with(t.o, opts, nil, few, c.one("many", nil)))
	t.eventually("the others are through", func() bool { return len(c.of("many")) == 20 })
	c.wantCalls("while the others go through", map[string]int{"few": 1})
	close(through)
	t.settled(0)
	t.mustStop(stop)
	c.wantCalls("in the end", map[string]int{"few": 60, "many": 20})
}
