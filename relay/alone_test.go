package relay_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// idler is a relay that has published something and waits to be woken.
type idler struct {
	o     *outbox.Outbox // whose statements nobody sees
	on    *outbox.Outbox // the relay's
	r     *relay.Relay
	got   chan string
	sent  statements
	after atomic.Pointer[func(query string) error]
	stop  func() error
}

func idle(t *testing.T, e *engines.Engine, order relay.Order) *idler {
	t.Helper()
	x := &idler{o: newOutbox(t, e), got: make(chan string, 10)}
	db := hookdb.Open(x.o.DB(), hookdb.Hooks{After: func(query string) error {
		_ = x.sent.add(query)
		if f := x.after.Load(); f != nil {
			return (*f)(query)
		}
		return nil
	}})
	t.Cleanup(func() { _ = db.Close() })
	x.on = outboxOn(t, db, x.o)
	x.r = relayOf(t, x.on, relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
		x.got <- m.ID
		return nil
	}), &relay.Options{Order: order, Lease: time.Hour, Poll: time.Hour, PollMax: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- x.r.Run(ctx) }()
	x.stop = func() error {
		cancel()
		return <-ended
	}
	x.publishes(t, "first")
	x.sent.forget()
	return x
}

// publishes has an event go through, and waits until it is settled.
func (x *idler) publishes(t *testing.T, id string) {
	t.Helper()
	write(t, x.o, outbox.Event{ID: id, Topic: "t", Key: "k"})
	x.on.Wake()
	select {
	case got := <-x.got:
		if got != id {
			t.Fatalf("%s was published, want %s", got, id)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%s is not published:\n%s", id, strings.Join(x.sent.kinds(), ", "))
	}
	for n := 1; n > 0; time.Sleep(time.Millisecond) {
		if err := x.o.DB().QueryRow(`SELECT COUNT(*) FROM outbox_events`).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
}

func ordered() []relay.Order { return []relay.Order{relay.OrderTotal, relay.OrderPerKey} }

// What an event costs from its commit to its publish is what is sent in between.
func TestAWokenRelayPublishesAfterSoManyStatements(t *testing.T) {
	want := map[string]string{
		"sqlite": "begin, look, fence, commit", "postgres": "begin, look, fence, commit", "mysql": "look, fence", "mariadb": "look, fence",
	}
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range ordered() {
			x := idle(t, e, order)
			x.publishes(t, "second")
			if err := x.stop(); err != nil {
				t.Error(err)
			}
			sent := strings.Join(x.sent.kinds(), ", ")
			if !strings.HasPrefix(sent, want[e.Name]+", ") || !strings.Contains(sent[len(want[e.Name]):], "settle") {
				t.Errorf("%s: %s, want %s and what settles it", order, sent, want[e.Name])
			}
		}
	})
}

// The statement that notes an event as in hand has happened, and nobody was told; or it had no answer because it has not.
func TestANoteThatWasNotHeardOfCounts(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range ordered() {
			x := idle(t, e, order)
			var cut atomic.Bool
			strike := func(query string) error {
				if kindOf(query) == "fence" && cut.CompareAndSwap(false, true) {
					return hookdb.ErrCut
				}
				return nil
			}
			x.after.Store(&strike)
			x.publishes(t, "second")
			x.publishes(t, "third")
			if err := x.stop(); err != nil {
				t.Error(err)
			}
			if !cut.Load() || x.r.Refused() != 0 || len(x.got) != 0 {
				t.Errorf("%s: cut %v, %d refused, %d published again", order, cut.Load(), x.r.Refused(), len(x.got))
			}
		}
	})
}

// Another has taken over while the relay was idle: what it finds then is not its own.
func TestAnIdleRelayThatHasLostItsRowPublishesNothing(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range ordered() {
			x := idle(t, e, order)
			if _, err := x.o.DB().Exec(`UPDATE outbox_relays SET version = version + 1`); err != nil { // as a take-over changes it
				t.Fatal(err)
			}
			lost := make(chan struct{})
			var once atomic.Bool
			seen := func(query string) error {
				if kindOf(query) == "fence" && once.CompareAndSwap(false, true) {
					close(lost)
				}
				return nil
			}
			x.after.Store(&seen)
			write(t, x.o, outbox.Event{ID: "second", Topic: "t", Key: "k"})
			x.on.Wake()
			<-lost
			if len(x.got) != 0 {
				t.Errorf("%s: %s was published", order, <-x.got)
			}
			if err := x.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}
