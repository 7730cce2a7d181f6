package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func endToEndRules() []rule {
	return inEach("writers, two relays, purge and requeue work side by side, and every committed event is published once", endToEnd)
}

func endToEnd(t *env, order relay.Order) {
	var once sync.Map // ids that have failed already
	p := &receiver{answer: func(_ context.Context, m relay.Message) error {
		if m.Seq%11 == 0 {
			if _, failed := once.LoadOrStore(m.ID, true); !failed {
				if m.Seq%2 == 0 {
					return relay.Permanent(errNo)
				}
				return relay.RetryAfter(0, errNo)
			}
		}
		return nil
	}}
	opts := quick(order)
	opts.Batch = 20
	stops := []func() error{t.start(t.otherRelay(p, opts)), t.start(t.otherRelay(p, opts))}

	const writers, rounds, every = 4, 20, 5
	committed := t.commits(writers, rounds, every, func(ctx context.Context, o *outbox.Outbox, tx *sql.Tx, w, i int) ([]string, error) {
		n := int64(w*rounds + i)
		ids, err := o.Write(ctx, tx, outbox.Event{Topic: "t", Key: fmt.Sprint(w), Payload: fmt.Append(nil, n)}, outbox.Event{Topic: "t"})
		if err == nil {
			_, err = tx.ExecContext(ctx, t.sql.SQL(`INSERT INTO conformance_host VALUES (?, 0)`), n)
		}
		return ids, err
	})
	t.eventually("all is published", func() bool {
		_, err := t.o.RequeueMatching(t.ctx(), outbox.DeadLetterQuery{})
		if err != nil {
			t.Error(err)
		}
		return t.number(`SELECT COUNT(*) FROM {events}`) == 0
	})
	for _, stop := range stops {
		t.mustStop(stop)
	}
	if n := t.number(`SELECT COUNT(*) FROM conformance_host`); n != writers*rounds*(every-1)/every {
		t.Errorf("%d business changes, want %d", n, writers*rounds*(every-1)/every)
	}
	sameIDs(t, "published", firsts(p.ids()), committed)
	for _, id := range committed {
		want := 1
		if _, failed := once.Load(id); failed {
			want = 2
		}
		if n := len(p.of(id)); n != want {
			t.Errorf("event %s was handed over %d times, want %d", id, n, want)
		}
	}
	if order != relay.OrderNone {
		wantKeysInOrder(t, p)
	}
}

// Events of one writer commit in the order of their numbers, so they are first handed over in that order.
func wantKeysInOrder(t *env, p *receiver) {
	last := map[string]int64{}
	seen := map[string]bool{}
	for _, m := range p.messages() {
		if seen[m.ID] || m.Key == "" {
			continue
		}
		seen[m.ID] = true
		if m.Seq < last[m.Key] {
			t.Errorf("key %s: seq %d was handed over after %d", m.Key, m.Seq, last[m.Key])
		}
		last[m.Key] = max(last[m.Key], m.Seq)
	}
	if keys := slices.Collect(func(yield func(string) bool) {
		for k := range last {
			if !yield(k) {
				return
			}
		}
	}); len(keys) != 4 {
		t.Errorf("keys %q", keys)
	}
}
