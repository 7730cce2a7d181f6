package conformance

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// receiver is a publisher that keeps what it was given, and answers as it is told.
type receiver struct {
	answer func(ctx context.Context, m relay.Message) error // nil: always nil

	mu  sync.Mutex // guards got
	got []relay.Message
}

func (p *receiver) Publish(ctx context.Context, m relay.Message) error {
	p.mu.Lock()
	p.got = append(p.got, m)
	p.mu.Unlock()
	if p.answer == nil {
		return nil
	}
	return p.answer(ctx, m)
}

func (p *receiver) messages() []relay.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

// ids are those of all hand-overs, in order.
func (p *receiver) ids() []string {
	var ids []string
	for _, m := range p.messages() {
		ids = append(ids, m.ID)
	}
	return ids
}

// of are the hand-overs of one event.
func (p *receiver) of(id string) []relay.Message {
	return slices.DeleteFunc(p.messages(), func(m relay.Message) bool { return m.ID != id })
}

// quick are options for a relay that waits for little and holds its lease for long. Poll is short, but not so short
// that several idle relays keep a small machine busy.
func quick(order relay.Order) *relay.Options {
	return &relay.Options{
		Order: order, Poll: 10 * time.Millisecond, PollMax: 40 * time.Millisecond,
		Backoff: time.Millisecond, BackoffMax: 5 * time.Millisecond,
	}
}

// relay makes a relay on the case's outbox.
func (t *env) relay(p relay.Publisher, opts *relay.Options) *relay.Relay {
	t.Helper()
	return t.relayOn(t.o, p, opts)
}

// otherRelay makes a relay on a pool of its own, as another process has it.
func (t *env) otherRelay(p relay.Publisher, opts *relay.Options) *relay.Relay {
	t.Helper()
	return t.relayOn(t.outboxOn(t.another(), nil), p, opts)
}

func (t *env) relayOn(o *outbox.Outbox, p relay.Publisher, opts *relay.Options) *relay.Relay {
	t.Helper()
	r, err := relay.New(o, p, opts)
	if err != nil {
		t.Fatalf("make a relay: %v", err)
	}
	return r
}

func (t *env) drain(r *relay.Relay) int {
	t.Helper()
	n, err := r.Drain(t.ctx())
	if err != nil {
		t.Fatalf("drain: %v", err)
	}
	return n
}

func (t *env) once(r *relay.Relay) int {
	t.Helper()
	n, err := r.RunOnce(t.ctx())
	if err != nil {
		t.Fatalf("run once: %v", err)
	}
	return n
}

// start runs a relay until stop is called, or the case ends; stop answers what Run returned.
func (t *env) start(r *relay.Relay) (stop func() error) { return t.startRun(r.Run) }

// startRun runs what runs until its context ends.
func (t *env) startRun(run func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = run(ctx)
	}()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case <-done:
			return err
		case <-time.After(t.h.Patience):
			t.Errorf("not within %v: it stops", t.h.Patience)
			return nil
		}
	})
	t.Cleanup(func() { _ = stop() })
	return stop
}

// mustStop stops what has no reason to complain.
func (t *env) mustStop(stop func() error) {
	t.Helper()
	if err := stop(); err != nil {
		t.Fatalf("it ended with: %v", err)
	}
}

// expireLease ends the lease by the database's clock, whatever its owner believes.
func (t *env) expireLease() {
	t.Helper()
	if n := t.exec(`UPDATE {leases} SET until_ms = 1 WHERE owner <> ''`); n != 1 {
		t.Fatalf("%d leases are owned, want 1", n)
	}
}

// fell ends all that relays own by the database's clock, whatever they believe.
func (t *env) fell(order relay.Order) {
	t.Helper()
	switch order {
	case relay.OrderTotal:
		t.exec(`UPDATE {leases} SET until_ms = 1 WHERE owner <> ''`)
	case relay.OrderPerKey:
		t.exec(`UPDATE {relays} SET until_ms = 1, seen_ms = 1 WHERE order_name = 'per_key'`)
	}
	t.exec(`UPDATE {events} SET due_ms = 1 WHERE state = 0`)
}

// expireClaims ends all claims by the database's clock.
func (t *env) expireClaims() {
	t.Helper()
	if n := t.exec(`UPDATE {events} SET due_ms = 1 WHERE state = 0 AND claimed_by <> ''`); n == 0 {
		t.Fatal("no event is claimed")
	}
}

// makeDue lets no event wait any longer.
func (t *env) makeDue() {
	t.exec(`UPDATE {events} SET due_ms = 1 WHERE state IN (0, 3, 5) AND claimed_by = ''`)
	t.exec(`UPDATE {deliveries} SET due_ms = 1 WHERE state = 3`)
}

func equalIDs(t *env, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// sameIDs compares without regard to order.
func sameIDs(t *env, what string, got, want []string) {
	t.Helper()
	equalIDs(t, what, slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}
