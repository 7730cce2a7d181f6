package conformance

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func collisionRules() []rule {
	return inEach("a commit that collides is run again, and nothing is handed over twice", collides)
}

// colliding is a dialect of a group of servers, where a transaction learns of a collision at COMMIT: the nth one does, and the
// next one too. ROLLBACK always says the same.
type colliding struct {
	dialect.Dialect
	conflict error
	n        int64
	commits  *atomic.Int64
}

func (d colliding) Begin(ctx context.Context, db *sql.DB) (dialect.Tx, error) {
	tx, err := d.Dialect.Begin(ctx, db)
	return collidingTx{tx, d}, err
}

type collidingTx struct {
	dialect.Tx
	d colliding
}

func (t collidingTx) Commit() error {
	if at := t.d.commits.Add(1); at == t.d.n || at == t.d.n+1 {
		return t.Rollback()
	}
	return t.Tx.Commit()
}

func (t collidingTx) Rollback() error { return errors.Join(t.d.conflict, t.Tx.Rollback()) }

// The engine itself says that it did not happen, so that nobody needs to guess.
func collides(t *env, order relay.Order) {
	conflict := t.conflict()
	for n := int64(1); t.collidesAt(order, conflict, n) && !t.Failed(); n++ {
		if n > 200 {
			t.Fatal("there is no end of commits")
		}
	}
}

// collidesAt runs a relay over a few events while its nth commit collides. It is false if there was none.
func (t *env) collidesAt(order relay.Order, conflict error, n int64) bool {
	t.Helper()
	t.space.empty(t.TB)
	ids := t.write(events("e", 4)...)
	p := failsOnce(ids[1])
	var commits atomic.Int64
	base := t.another()
	o, err := outbox.New(base, colliding{t.dialect(), conflict, n, &commits}, nil)
	if err != nil {
		t.Fatalf("make an outbox: %v", err)
	}
	r := t.relayOn(o, p, quick(order))
	stop := t.start(r)
	done := holdsWithin(t.h.Patience, func() bool { return t.number(`SELECT COUNT(*) FROM {events}`) == 0 })
	if err := stop(); err != nil {
		t.Errorf("commit %d: the relay ended with: %v", n, err)
	}
	_ = base.Close()
	if !done {
		t.Fatalf("not within %v: commit %d: all is published:%s\nhanded over: %q", t.h.Patience, n, describe(t.records()), p.ids())
	}
	sameIDs(t, "handed over", p.ids(), append(slices.Clone(ids), ids[1]))
	if order == relay.OrderTotal {
		equalIDs(t, "first hand-overs", firsts(p.ids()), ids)
	}
	for _, m := range p.messages() {
		if m.Attempt > 1 && m.ID != ids[1] || m.Attempt > 2 {
			t.Errorf("commit %d: event %s was charged for it: attempt %d", n, m.ID, m.Attempt)
		}
	}
	if r.Refused() != 0 {
		t.Errorf("commit %d: %d outcomes were refused", n, r.Refused())
	}
	return commits.Load() >= n
}
