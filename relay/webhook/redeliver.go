package webhook

import (
	"context"
	"fmt"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/fanout"
	"github.com/sqloutbox/sqloutbox/internal/invalid"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// RedeliverQuery says which deliveries are sent again. One: From and To its position.
type RedeliverQuery struct {
	From, To int64 // positions in the feed, both taken; To 0: no end
	Done     bool  // those that are done too, not the dead alone
	// Rate is how many a second become due, at last: it begins with one in the first second and doubles. Default 100, at
	// most 500.
	Rate int
}

const (
	// By (subscription_id, state, feed_seq); the state is a range as in listDeliveries.
	settledDeliveries = `SELECT feed_seq FROM {webhook_deliveries}{use_webhooks_order}
WHERE subscription_id = ? AND state > ? AND state < ? AND feed_seq >= ? AND feed_seq <= ? ORDER BY state, feed_seq LIMIT ?{lock}`

	// By primary key.
	sendAgain = `{update_webhooks} SET state = 0, attempts = 0, claimed_by = '', settled_ms = 0, due_ms = {clock} + ?
WHERE subscription_id = ? AND feed_seq IN ({list}) AND state > 0`
)

// Redeliver makes deliveries pending again, in the order of the feed and with all their tries before them, and answers how many,
// also beside an error: it works in steps. The first one is sent when the last step is done. So an ordered subscription gets all
// of them before what else it is owed, but for what a worker has claimed by then. One whose event has been purged
// meanwhile becomes dead again.
//
// Errors: outbox.ErrInvalidOptions for what can't be a name, or a query out of its bounds, ErrUnknownSubscription, and the database's.
func (w *Webhooks) Redeliver(ctx context.Context, name string, q RedeliverQuery) (int, error) {
	if q.Rate == 0 {
		q.Rate = 100
	}
	if q.To == 0 {
		q.To = noEnd
	}
	if q.Rate < 0 || q.Rate > 500 || q.From < 0 || q.To < q.From {
		return 0, fmt.Errorf("redeliver: %w: Rate %d (1 to 500), From %d, To %d", invalid.ErrOptions, q.Rate, q.From, q.To)
	}
	id, err := w.find(ctx, w.o.DB(), name)
	if err != nil {
		return 0, fmt.Errorf("redeliver: %w", err)
	}
	r := &redelivery{hold: w.newHold(id, "redeliver"), states: []int64{fanout.Dead}, to: q.To}
	if q.Done {
		r.states = append(r.states, fanout.Done)
	}
	total := 0
	for from, step := q.From, 1; err == nil; step = min(2*step, q.Rate) {
		var n int
		n, from, err = r.step(ctx, from, step)
		if total += n; n < step {
			break
		}
	}
	if freed := r.free(ctx); err == nil {
		err = freed
	}
	w.Wake()
	if err != nil {
		return total, fmt.Errorf("redeliver: %w", err)
	}
	return total, nil
}

// redelivery is a call of Redeliver under way.
type redelivery struct {
	hold
	to     int64
	states []int64
	second int64 // from now on, in which the next step's become due
}

// step makes the next n pending that are from a position on, and answers where the one after it begins.
func (r *redelivery) step(ctx context.Context, from int64, n int) (int, int64, error) {
	var found []int64
	err := r.inTx(ctx, func(tx dialect.Tx) (int64, error) {
		found = nil
		for _, state := range r.states {
			some, err := rows.Int64s(ctx, tx, r.w.sql.SQL(settledDeliveries), r.id, state-1, state+1, from, r.to, int64(n))
			if err != nil {
				return 0, err
			}
			found = append(found, some...)
		}
		slices.Sort(found)
		if found = found[:min(n, len(found))]; len(found) == 0 {
			return 0, nil
		}
		_, err := r.w.changeList(ctx, tx, sendAgain, found, r.second*1000, r.id)
		return found[0], err
	})
	if err != nil || len(found) == 0 {
		return 0, from, err
	}
	r.second++
	return len(found), found[len(found)-1] + 1, nil // what is dead again by now is not sent once more
}
