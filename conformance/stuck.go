package conformance

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// tryWriteWith makes a business change for a message, in a transaction of o's pool.
func (t *env) tryWriteWith(ctx context.Context, o *outbox.Outbox, m relay.Message) (sql.Result, error) {
	var res sql.Result
	err := o.InTx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		res, err = tx.ExecContext(ctx, t.sql.SQL(`INSERT INTO conformance_host VALUES (?, 0)`), m.Seq)
		return err
	})
	return res, err
}

func stuckRules() []rule {
	return slices.Concat(
		inEach("a publisher that ignores its context is reported, and its event never handed out twice at once", stuck),
		inEach("a relay all of whose calls do not return lets others go on", stuckAll))
}

// stuckWatch is told of calls that do not return.
type stuckWatch struct{ n atomic.Int64 }

func (w *stuckWatch) Stuck(relay.Message, time.Duration) { w.n.Add(1) }

func stuck(t *env, order relay.Order) {
	id := t.write(events("e", 1)...)[0]
	open := make(chan struct{})
	var inside, most atomic.Int64
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		if n := inside.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer inside.Add(-1)
		if m.ID == id {
			<-open // whatever the context says
		}
		return nil
	}}
	watch := &stuckWatch{}
	opts := quick(order)
	opts.PublishTimeout, opts.Lease = 40*time.Millisecond, 400*time.Millisecond
	opts.Observers = []relay.Observer{watch}
	if order == relay.OrderNone {
		opts.Concurrency = 4
	}
	stop := t.start(t.otherRelay(p, opts))
	t.eventually("it is reported as stuck", func() bool { return watch.n.Load() > 0 })
	t.eventually("it counts as failed", func() bool {
		all := t.records()
		return len(all) > 0 && all[0].attempts > 0 && all[0].lastError != "" || order == relay.OrderTotal
	})
	// Even where it is due and nobody's: this process still has it.
	for range 3 {
		t.exec(`UPDATE {leases} SET until_ms = 1 WHERE until_ms > 1`)
		t.exec(`UPDATE {events} SET due_ms = 1 WHERE state IN (0, 5)`)
		passes(t, 50*time.Millisecond)
	}
	if n := len(p.of(id)); n != 1 || most.Load() != 1 {
		t.Errorf("it was handed out %d times while the first call still ran", n)
	}
	close(open)
	t.eventually("it is handed over again when the call has returned", func() bool {
		t.exec(`UPDATE {events} SET due_ms = 1 WHERE state IN (0, 5) AND claimed_by = ''`)
		return t.number(`SELECT COUNT(*) FROM {events}`) == 0
	})
	t.mustStop(stop)
	if most.Load() != 1 {
		t.Errorf("%d hand-overs at once", most.Load())
	}
}

func stuckAll(t *env, order relay.Order) {
	t.write(outbox.Event{ID: "stuck", Topic: "t", Key: "a"}, outbox.Event{ID: "behind", Topic: "t", Key: "b"})
	entered, open := make(chan struct{}, 2), make(chan struct{})
	opts := quick(order)
	opts.PublishTimeout, opts.Lease = 40*time.Millisecond, racing.Slow*time.Second
	if order != relay.OrderTotal {
		opts.Concurrency = 1
	}
	stop := t.start(t.otherRelay(&receiver{answer: func(context.Context, relay.Message) error {
		entered <- struct{}{}
		<-open // whatever the context says
		return nil
	}}, opts))
	await(t, "it hands over", entered)
	p := &receiver{}
	opts.PublishTimeout = 0 // the other's calls return at once, but the machine may stand still for a while
	other := t.start(t.otherRelay(p, opts))
	t.eventually("another process has done both", func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) == 0 })
	close(open)
	if err := stop(); err != nil && !errors.Is(err, relay.ErrStuck) { // it may not know yet that the call has returned
		t.Errorf("Run: %v", err)
	}
	t.mustStop(other)
	sameIDs(t, "handed over by the other", p.ids(), []string{"stuck", "behind"})
}
