package conformance

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

func publisherRules() []rule {
	var rules []rule
	for _, both := range [][]rule{
		inEach("a panic, panic(nil) and Goexit are failed attempts, and the relay lives on", publisherDies),
		inEach("a batch publisher's answers count one by one", batchAnswers),
		inEach("a wrong number of answers charges nobody and loses nothing", batchWrong),
		inEach("the context of a hand-over ends with PublishTimeout", publisherTimeout),
		inEach("a publisher may use the relay's own pool", publisherQueries),
	} {
		rules = append(rules, both...)
	}
	return append(rules,
		rule{"a batch of the ordered relay is handed over in order, in one call", batchInOrder},
		rule{"what is behind the first failure of an ordered batch is not charged", batchBehind})
}

func publisherDies(t *env, order relay.Order) {
	ids := t.write(events("e", 5)...)
	ends := map[string]func(){
		ids[0]: func() { panic("boom") },
		ids[1]: func() { panic(errNo) },
		ids[2]: func() { panic(nil) }, //nolint:govet // what a host may do
		ids[3]: runtime.Goexit,
	}
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		if end := ends[m.ID]; end != nil && m.Attempt == 1 {
			end()
		}
		return nil
	}}
	r := t.relay(p, quick(order))
	stop := t.start(r)
	t.eventually("all are handed over again", func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) == 0 })
	t.mustStop(stop)
	for _, id := range ids[:4] {
		if got := p.of(id); len(got) != 2 || got[1].Attempt != 2 {
			t.Errorf("event %s was handed over %d times, want twice", id, len(got))
		}
	}
	// The text says where.
	id := t.write(events("f", 1)...)[0]
	t.once(t.relay(&receiver{answer: func(context.Context, relay.Message) error { panic("boom") }}, quick(order)))
	if x := t.record(id); !strings.Contains(x.lastError, "boom") || !strings.Contains(x.lastError, ".go:") {
		t.Errorf("last_error %q: want the panic and its stack", x.lastError)
	}
	t.makeDue()
}

// batcher is a batch publisher that answers by a function.
type batcher struct {
	receiver
	batch func(ms []relay.Message) []error

	calls sync.Mutex // guards sizes
	sizes []int
}

func (b *batcher) PublishBatch(_ context.Context, ms []relay.Message) []error {
	b.mu.Lock()
	b.got = append(b.got, ms...)
	b.mu.Unlock()
	b.calls.Lock()
	b.sizes = append(b.sizes, len(ms))
	b.calls.Unlock()
	return b.batch(ms)
}

func allNil(ms []relay.Message) []error { return make([]error, len(ms)) }

func batchInOrder(t *env) {
	ids := t.write(events("e", 25)...)
	b := &batcher{batch: allNil}
	opts := quick(relay.OrderTotal)
	opts.Batch = 10
	if n := t.drain(t.relay(b, opts)); n != 25 {
		t.Errorf("%d published", n)
	}
	equalIDs(t, "handed over", b.ids(), ids)
	if len(b.sizes) != 3 || b.sizes[0] != 10 || b.sizes[2] != 5 {
		t.Errorf("calls of %v events, want 10, 10, 5", b.sizes)
	}
}

func batchAnswers(t *env, order relay.Order) {
	for n := range 4 {
		ids := t.write(events("e", 4)...)
		b := &batcher{batch: func(ms []relay.Message) []error {
			errs := allNil(ms)
			errs[n] = relay.RetryAfter(time.Hour, errNo)
			return errs
		}}
		r := t.relay(b, quick(order))
		if got := t.once(r); got != 3 {
			t.Errorf("failure at %d: %d published, want 3", n, got)
		}
		all := t.records()
		if len(all) != 1 || all[0].id != ids[n] || all[0].attempts != 1 || all[0].state != tried(order) {
			t.Errorf("failure at %d: left:%s", n, describe(all))
		}
		t.exec(`DELETE FROM {events}`)
	}
}

func batchBehind(t *env) {
	ids := t.write(events("e", 4)...)
	b := &batcher{batch: func(ms []relay.Message) []error {
		errs := allNil(ms)
		for i := 1; i < len(errs); i++ {
			errs[i] = relay.RetryAfter(0, errNo) // it stopped at the first failure
		}
		return errs
	}}
	t.once(t.relay(b, quick(relay.OrderTotal)))
	for _, x := range t.records() {
		want := int64(0)
		if x.id == ids[1] {
			want = 1
		}
		if x.attempts != want || x.state != pending {
			t.Errorf("want %d attempts:%s", want, describe([]record{x}))
		}
	}
}

func batchWrong(t *env, order relay.Order) {
	ids := t.write(events("e", 3)...)
	for _, n := range []int{0, 2, 4} {
		b := &batcher{batch: func([]relay.Message) []error { return make([]error, n) }}
		published, err := t.relay(b, quick(order)).Drain(t.ctx())
		if published != 0 || !errors.Is(err, relay.ErrAnswers) {
			t.Errorf("%d answers for 3: %d published, %v; want relay.ErrAnswers", n, published, err)
		}
		t.makeDue()
	}
	for _, x := range t.records() {
		if x.state != pending || x.attempts != 0 {
			t.Errorf("charged:%s", describe([]record{x}))
		}
	}
	p := &receiver{}
	t.drain(t.relay(p, quick(order)))
	sameIDs(t, "handed over", p.ids(), ids)
}

func publisherTimeout(t *env, order relay.Order) {
	id := t.write(events("e", 1)...)[0]
	p := &receiver{answer: func(ctx context.Context, _ relay.Message) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(t.h.Patience):
			return errors.New("the context did not end")
		}
	}}
	opts := quick(order)
	opts.PublishTimeout = 3 * time.Second // as long again is what it may take to return, on a machine that stands still for a while
	opts.Backoff, opts.BackoffMax = time.Hour, time.Hour
	t.once(t.relay(p, opts))
	if x := t.record(id); x.attempts != 1 || !strings.Contains(x.lastError, context.DeadlineExceeded.Error()) {
		t.Errorf("want one failed attempt:%s", describe([]record{x}))
	}
}

// Nothing is held while a publisher runs: with one connection in all it would wait for ever.
func publisherQueries(t *env, order relay.Order) {
	ids := t.write(events("e", 5)...)
	db := t.another()
	db.SetMaxOpenConns(1)
	o := t.outboxOn(db, nil)
	p := &receiver{answer: func(ctx context.Context, m relay.Message) error {
		_, err := t.tryWriteWith(ctx, o, m)
		return err
	}}
	opts := quick(order)
	opts.Concurrency = 0
	if n := t.drain(t.relayOn(o, p, opts)); n != 5 {
		t.Errorf("%d published, want 5", n)
	}
	sameIDs(t, "handed over", p.ids(), ids)
	if n := t.number(`SELECT COUNT(*) FROM conformance_host`); n != 5 {
		t.Errorf("%d changes by the publisher, want 5", n)
	}
}
