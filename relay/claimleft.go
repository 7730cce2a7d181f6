package relay

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// A delivery that another process has left is claimed for as long as a Lease, and the claim is renewed: by its due time,
// so that one process runs it, and with a number of its own, so that what comes late changes nothing.
const (
	// By primary key. A handler's transaction locks the record for as long as it runs, and is not waited for.
	lockOutstanding = `SELECT seq FROM {deliveries}
WHERE seq = ? AND handler = ? AND state = 0 AND attempts = ? AND settled_ms = ? AND due_ms <= (SELECT {clock}){lock_skip}`
	// By primary key. The attempt is counted before the call, so that a crash counts too.
	claimDelivery = `{update_deliveries} SET attempts = ?, settled_ms = ?, due_ms = {clock} + ?
WHERE seq = ? AND handler = ? AND state = 0 AND attempts = ? AND settled_ms = ?`
	// By primary key.
	failedSince = `{update_deliveries} SET since_ms = ? WHERE seq = ? AND handler = ? AND state = 0`
)

// claimNo numbers the claims of an outstanding delivery, in settled_ms; 0: it has not been claimed since it was left, or
// was freed. Below 0 the delivery was called alone. Otherwise it shared its process with other calls: where such a claim
// lapses, any of them may have ended the process. The next claim is alone then, and its crash counts for both.
type claimNo int64

func newClaimNo(alone bool) claimNo {
	no := claimNo(2 + rand.Int64N(1<<62))
	if alone {
		return -no
	}
	return no
}

func (c claimNo) alone() bool  { return c < 0 }
func (c claimNo) shared() bool { return c > 0 }

// lapsed: nothing was heard of the call again.
func (c claimNo) lapsed() bool { return c != c.mark() }

// mark says how it was claimed, and is no claim's number.
func (c claimNo) mark() claimNo { return claimNo(cmp.Compare(c, 0)) }

// claimed notes the last claim of a delivery, and the attempts that its record counts. A shared one is not charged.
func (n *need) claimed(last claimNo, counted int) {
	if n.claim, n.attempts = last, counted; last.shared() {
		n.attempts--
	}
}

// claim claims what was found, and counts the attempts.
func (s *server) claim(ctx context.Context, found []*left, alone bool) (claimed []*left, err error) {
	h := s.h
	ctx, cancel := h.relay.bounded(ctx)
	defer cancel()
	slices.SortFunc(found, func(a, b *left) int { // as all rows are locked
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.n.name, b.n.name))
	})
	from := h.relay.now()
	err = txn.Run(ctx, h.own, h.d, func(tx dialect.Tx) error {
		claimed = nil
		for _, l := range found {
			if taken, err := s.claimOne(ctx, tx, l, alone); err != nil {
				return err
			} else if taken {
				l.renewed = from
				claimed = append(claimed, l)
			}
		}
		return nil
	})
	if txn.IsUnknown(err) { // one that is left to lapse would count as a call
		for _, l := range claimed {
			err = errors.Join(err, s.back(ctx, l, nil))
		}
	}
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

func (s *server) claimOne(ctx context.Context, tx dialect.Tx, l *left, alone bool) (taken bool, err error) {
	r := s.h.relay
	l.no = newClaimNo(alone)
	was := []any{l.seq, l.n.name, l.counted, int64(l.n.claim)}
	taken, err = r.changeIfFree(ctx, tx, lockOutstanding, claimDelivery, was, l.counted+1, int64(l.no), r.opts.Lease.Milliseconds())
	if err == nil && taken && l.crashedFirst() {
		_, err = rows.Exec(ctx, tx, r.sql.SQL(failedSince), l.n.since, l.seq, l.n.name)
	}
	return taken, err
}

// changeIfFree changes a delivery that is what it was, unless a handler's transaction holds it. was are the arguments of lock,
// and follow the others in change.
func (r *Relay) changeIfFree(ctx context.Context, tx dialect.Tx, lock, change string, was []any, to ...any) (changed bool, err error) {
	var seq int64
	err = rows.One(ctx, tx, r.sql.SQL(lock), was, &seq)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	n, err := rows.Exec(ctx, tx, r.sql.SQL(change), slices.Concat(to, was)...)
	return n == 1, err
}
