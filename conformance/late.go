package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func lateRules() []rule {
	const overtaken = "an event that commits late is overtaken by none of its key, while a relay is busy"
	return slices.Concat(
		inEach("an event that committed late is found", lateFound),
		inEach("nothing is lost between writers that commit in any order", lateWriters),
		[]rule{
			{overtaken + ", total", func(t *env) { lateWhileBusy(t, relay.OrderTotal) }},
			{overtaken + ", per key", func(t *env) { lateWhileBusy(t, relay.OrderPerKey) }},
		},
	)
}

// A has the lower number and commits after the relay has run dry.
func lateFound(t *env, order relay.Order) {
	// Ids of its own: where an id was deleted a moment ago, InnoDB locks its place and the next against others.
	idA, idB := "a "+order.String(), "b "+order.String()
	p := &receiver{}
	r := t.otherRelay(p, quick(order))
	a := t.begin(t.another())
	if _, err := t.o.Write(t.ctx(), a, outbox.Event{ID: idA, Topic: "t"}); err != nil {
		t.Fatal(err)
	}
	b := aside(func() error {
		_, err := t.tryWrite(t.o, outbox.Event{ID: idB, Topic: "t"})
		return err
	})
	if t.oneWriter() {
		if !waits(b) {
			t.Error("there is one writer, and a second one did not wait for the first")
		}
		if err := a.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := await(t, "b is written", b); err != nil {
		t.Fatal(err)
	}
	if !t.oneWriter() {
		t.drain(r)
		equalIDs(t, "handed over before a commits", p.ids(), []string{idB})
		if err := a.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	t.drain(r)
	sameIDs(t, "handed over", p.ids(), []string{idA, idB})
}

func lateWriters(t *env, order relay.Order) {
	p := &receiver{}
	stop := t.start(t.otherRelay(p, quick(order)))
	committed := t.commits(4, 15, 3, func(ctx context.Context, o *outbox.Outbox, tx *sql.Tx, _, _ int) ([]string, error) {
		return o.Write(ctx, tx, outbox.Event{Topic: "t"}, outbox.Event{Topic: "t"})
	})
	t.eventually("all that was committed is handed over", func() bool { return len(p.ids()) >= len(committed) })
	t.mustStop(stop)
	sameIDs(t, "handed over", p.ids(), committed)
}

// A relay that is in the midst of a backlog has gone past a number that commits only now, and is followed by a later event of its
// key: once it is below all that the relay has taken, and once between.
func lateWhileBusy(t *env, order relay.Order) {
	if t.oneWriter() {
		return // numbers are given in the order of commits
	}
	for before := range 2 {
		lateBehind(t, order, 5*before)
	}
}

// lateBehind has an event commit late that was written after so many others.
func lateBehind(t *env, order relay.Order, before int) {
	id := func(name string) string { return fmt.Sprint(name, " ", before, " ", order) }
	open := make(chan struct{})
	var n atomic.Int32
	p := &receiver{answer: func(ctx context.Context, _ relay.Message) error {
		if n.Add(1) > 12 {
			select {
			case <-open:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}}
	write := func(from, to int) {
		for i := from; i < to; i++ {
			t.write(outbox.Event{ID: id(fmt.Sprintf("event %02d", i)), Topic: "t", Key: fmt.Sprint(i)})
		}
	}
	write(0, before)
	late := t.begin(t.another())
	if _, err := t.o.Write(t.ctx(), late, outbox.Event{ID: id("late"), Topic: "t", Key: "k"}); err != nil {
		t.Fatal(err)
	}
	write(before, 40)
	opts := quick(order)
	opts.Batch = 4
	stop := t.start(t.otherRelay(p, opts))
	t.eventually("the relay is busy", func() bool { return n.Load() > 12 })
	if err := late.Commit(); err != nil {
		t.Fatal(err)
	}
	t.write(outbox.Event{ID: id("next"), Topic: "t", Key: "k"})
	close(open)
	t.eventually("all is handed over", func() bool { return len(p.ids()) >= 42 })
	t.mustStop(stop)
	of := slices.DeleteFunc(p.messages(), func(m relay.Message) bool { return m.Key != "k" })
	if len(of) != 2 || of[0].ID != id("late") || of[1].ID != id("next") {
		t.Errorf("behind %d events, handed over of the key: %v", before, of)
	}
}
