package webhook

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// turn is one transaction of a lane: it records what has ended and claims more.
type turn struct {
	ended []outcome
	left  int  // in hand beside ended
	open  bool // more may be claimed

	claimed []*delivery
	more    bool      // there may be more to claim
	fitted  []outcome // of ended: those that are recorded, and no other says anything of the endpoint
	disable *disabling
	refused int // outcomes of claims that had lapsed and were taken
}

const (
	// By (subscription_id, state, feed_seq): the lowest, locked, so that two workers never both find themselves first. The
	// order begins with the state, so that PostgreSQL does not take the primary key for shorter.
	nextInOrder = `SELECT feed_seq, seq, attempts, due_ms FROM {webhook_deliveries}{use_webhooks_order}
WHERE subscription_id = ? AND state <= 0 ORDER BY state, feed_seq LIMIT ?{lock}`
	// By (subscription_id, state, due_ms, feed_seq).
	nextDue = `SELECT feed_seq, seq, attempts, due_ms FROM {webhook_deliveries}{use_webhooks_due}
WHERE subscription_id = ? AND state = 0 AND due_ms <= ? ORDER BY due_ms, feed_seq LIMIT ?{lock_skip}`
	// By primary key. Being not due is what keeps others off; a claim that lapses is simply due again.
	claimDeliveries = `{update_webhooks} SET claimed_by = ?, due_ms = {clock} + ?
WHERE subscription_id = ? AND feed_seq IN ({list}) AND state = 0`
	// By (subscription_id, state, …): after a COMMIT whose answer was lost.
	unclaim = `UPDATE {webhook_deliveries} SET claimed_by = '', due_ms = {clock} WHERE subscription_id = ? AND state = 0 AND claimed_by = ?`
)

// turn commits one transaction, all of it or nothing.
func (l *lane) turn(ctx context.Context, t *turn) error {
	w := l.w
	ctx, cancel := context.WithTimeout(ctx, w.opts.Lease)
	defer cancel()
	select {
	case w.turns <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.turns }()
	if slices.ContainsFunc(t.ended, func(o outcome) bool { return o.j.leaveAlone() }) {
		l.rest = new(atomic.Bool) // what follows goes by the row
	}
	c := &claim{deadline: clocks.Deadline{Now: w.now}, rest: l.rest}
	err := txn.Run(ctx, w.o.DB(), w.o.Dialect(), func(tx dialect.Tx) error {
		c.id = uuid.NewString()
		c.deadline.Extend(w.now(), w.opts.Lease)
		t.claimed, t.more, t.fitted, t.disable, t.refused = nil, false, nil, nil, 0
		return l.tryTurn(ctx, tx, t, c)
	})
	if txn.IsUnknown(err) {
		l.unsure = append(l.unsure, c.id)
	}
	if err != nil {
		return err
	}
	l.unsure = nil
	for _, o := range t.fitted {
		if o.j.verdict >= dead {
			w.log.Warn("delivery is dead", "subscription", l.id, "position", o.feedSeq, "tries", o.attempts+1, "error", o.a.err)
		}
	}
	if t.refused > 0 {
		w.log.Warn("deliveries were recorded too late: another worker has them", "subscription", l.id, "deliveries", t.refused)
	}
	if t.disable != nil {
		if err := w.disable(ctx, l.id, t.disable); err != nil { // the next failure tries again
			w.log.Error("subscription could not be disabled", "subscription", l.id, "reason", t.disable.reason, "error", err)
		}
	}
	return nil
}

func (l *lane) tryTurn(ctx context.Context, tx dialect.Tx, t *turn, c *claim) error {
	w := l.w
	seen := w.lookAt()
	row, err := w.readEndpoint(ctx, tx, l.id)
	if err != nil || row == nil {
		return err // deleted: its deliveries go with it
	}
	seen.version = row.version
	l.seen.Store(&seen)
	for _, id := range l.unsure {
		if _, err := rows.Exec(ctx, tx, w.sql.SQL(unclaim), l.id, id); err != nil {
			return fmt.Errorf("give back claims: %w", err)
		}
	}
	if err := l.record(ctx, tx, t, row); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	c.to = row
	c.careful = t.careful(row)
	if l.single, l.flush = row.ordered || c.careful, flush; c.careful {
		l.flush = flushCareful
	}
	if room := l.room(t, row); room > 0 {
		if err := l.claim(ctx, tx, t, c, room); err != nil {
			return fmt.Errorf("claim: %w", err)
		}
	}
	return l.recordEndpoint(ctx, tx, t, row) // last of all, since workers of other processes do it too
}

// room is how many deliveries may be claimed.
func (l *lane) room(t *turn, row *endpointRow) int {
	switch {
	case !t.open || !row.active || row.rest > row.now || t.leaveAlone(row):
		return 0
	case !l.single:
		return 2*l.w.opts.Parallel - t.left
	case t.left > 0:
		return 0
	case row.ordered:
		return orderedRun
	}
	return carefulRun
}

// careful reports whether every try of late has failed, enough of them to believe that the next one will.
func (t *turn) careful(row *endpointRow) bool {
	works, failures, _ := t.fared(row)
	return !works && row.failures+failures >= manyFailures
}

// fared is how the endpoint has: whether a try was done, how many failed, and for how long, in ms, it wants to be left alone.
// What was sent before the subscription was changed says nothing of the endpoint that it has now.
func (t *turn) fared(row *endpointRow) (works bool, failures, rest int64) {
	for _, o := range t.fitted {
		switch {
		case o.event == nil || !o.isOf(row):
		case o.j.verdict == done:
			works = true
		default:
			failures++
			rest = max(rest, o.j.rest.Milliseconds())
		}
	}
	return works, failures, rest
}

// leaveAlone reports whether the endpoint has just asked for it, for a while or for good.
func (t *turn) leaveAlone(row *endpointRow) bool {
	return slices.ContainsFunc(t.fitted, func(o outcome) bool { return o.isOf(row) && o.j.leaveAlone() })
}

func (l *lane) claim(ctx context.Context, tx dialect.Tx, t *turn, c *claim, room int) error {
	w := l.w
	statement, args := nextInOrder, []any{l.id, int64(room)}
	if !c.to.ordered {
		statement, args = nextDue, []any{l.id, c.to.now, int64(room)}
	}
	found, err := w.readDeliveries(ctx, tx, statement, args)
	if err != nil || len(found) == 0 {
		return err
	}
	t.more = len(found) == room
	var numbers []int64
	for i, d := range found {
		if d.due > c.to.now { // in order: what waits holds up what is behind it
			found, t.more = found[:i], false
			break
		}
		numbers = append(numbers, d.feedSeq)
	}
	if len(found) == 0 {
		return nil
	}
	if _, err := w.changeList(ctx, tx, claimDeliveries, numbers, c.id, w.opts.Lease.Milliseconds(), l.id); err != nil {
		return err
	}
	for _, d := range found {
		t.claimed = append(t.claimed, &delivery{feedSeq: d.feedSeq, seq: d.seq, attempts: d.attempts, claim: c})
	}
	return w.readEvents(ctx, tx, t.claimed)
}
