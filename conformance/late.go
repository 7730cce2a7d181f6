package conformance

import (
	"context"
	"database/sql"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func lateRules() []rule {
	return append(inEach("an event that committed late is found", lateFound),
		inEach("nothing is lost between writers that commit in any order", lateWriters)...)
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
