package conformance

import (
	"context"
	"database/sql"
	"sync"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func lateRules() []rule {
	return append(inBoth("an event that committed late is found", lateFound),
		inBoth("nothing is lost between writers that commit in any order", lateWriters)...)
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
	var mu sync.Mutex
	var committed []string
	t.together(4, func(_ int, o *outbox.Outbox) error {
		for i := range 15 {
			var ids []string
			err := o.InTx(t.ctx(), func(ctx context.Context, tx *sql.Tx) (err error) {
				ids, err = o.Write(ctx, tx, outbox.Event{Topic: "t"}, outbox.Event{Topic: "t"})
				if err == nil && i%3 == 2 {
					return errNo // gaps in the numbers
				}
				return err
			})
			if i%3 == 2 {
				continue
			}
			if err != nil {
				return err
			}
			mu.Lock()
			committed = append(committed, ids...)
			mu.Unlock()
		}
		return nil
	})
	t.eventually("all that was committed is handed over", func() bool { return len(p.ids()) >= len(committed) })
	t.mustStop(stop)
	sameIDs(t, "handed over", p.ids(), committed)
}
