package conformance

import (
	"context"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func holdRules() []rule {
	return []rule{
		{"a dead letter lets what is behind it flow", holdSkips},
		{"with HoldKey a dead letter holds the outbox until it is requeued", holdRequeued},
		{"with HoldKey a dead letter holds the outbox until it is discarded", holdDiscarded},
		{"a dead letter that is requeued while a relay reads comes before what it held", holdRequeuedInTurn},
	}
}

func holdSkips(t *env) {
	ids := t.write(events("e", 4)...)
	p := permanentFor(ids[1])
	t.drain(t.relay(p, quick(relay.OrderTotal)))
	equalIDs(t, "handed over", p.ids(), ids)
	equalIDs(t, "dead letters", t.deadIDs(outbox.DeadLetterQuery{}), ids[1:2])
}

func permanentFor(id string) *receiver {
	done := false
	return &receiver{answer: func(_ context.Context, m relay.Message) error {
		if m.ID == id && !done {
			done = true
			return relay.Permanent(errNo)
		}
		return nil
	}}
}

// held leaves a dead letter that holds what is behind it.
func held(t *env) (ids []string, p *receiver, r *relay.Relay) {
	ids = t.write(events("e", 4)...)
	p = permanentFor(ids[1])
	opts := quick(relay.OrderTotal)
	opts.OnDead = relay.HoldKey
	r = t.otherRelay(p, opts)
	for range 3 {
		t.drain(r)
	}
	ids = append(ids, t.write(events("late", 1)...)...)
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), ids[:2])
	return ids, p, r
}

func holdRequeued(t *env) {
	ids, p, r := held(t)
	if n, err := t.o.Requeue(t.ctx(), ids[1]); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), []string{ids[0], ids[1], ids[1], ids[2], ids[3], ids[4]})
}

func holdDiscarded(t *env) {
	ids, p, r := held(t)
	if n, err := t.o.Discard(t.ctx(), ids[1]); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), ids)
}

// The operator's Requeue comes between two statements of a turn, where more than one writer at a time is let in.
func holdRequeuedInTurn(t *env) {
	ids := t.write(events("e", 3)...)
	p := permanentFor(ids[0])
	opts := quick(relay.OrderTotal)
	opts.OnDead = relay.HoldKey
	t.drain(t.otherRelay(p, opts))
	equalIDs(t, "handed over", p.ids(), ids[:1])
	once := t.oneWriter()
	db := t.hooked(hookdb.Hooks{After: func(query string) error {
		if !once && strings.HasPrefix(query, "SELECT seq, id, topic") {
			once = true
			ctx, cancel := context.WithTimeout(t.ctx(), time.Second)
			defer cancel()
			_, _ = t.o.Requeue(ctx, ids[0])
		}
		return nil
	}})
	r := t.relayOn(t.outboxOn(db, nil), p, opts)
	t.drain(r)
	if !once {
		t.Error("the relay did not look")
	}
	if _, err := t.o.Requeue(t.ctx(), ids[0]); err != nil { // where it did not get through
		t.Fatal(err)
	}
	t.drain(r)
	equalIDs(t, "handed over", p.ids(), []string{ids[0], ids[0], ids[1], ids[2]})
}
