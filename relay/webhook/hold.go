package webhook

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

const (
	// By primary key: the first of them, and with it an ordered subscription, waits until all are pending.
	holdFirst = `UPDATE {webhook_deliveries}
SET claimed_by = ?, due_ms = {clock} + ?
WHERE subscription_id = ? AND feed_seq = ? AND state = 0`
	keepFirst = `UPDATE {webhook_deliveries}
SET due_ms = {clock} + ?
WHERE subscription_id = ? AND feed_seq = ? AND state = 0 AND claimed_by = ?`
	freeFirst = `UPDATE {webhook_deliveries}
SET due_ms = {clock}, claimed_by = ''
WHERE subscription_id = ? AND feed_seq = ? AND state = 0 AND claimed_by = ?`
)

// holdFor is how long the first one waits at most after the last step, as when the process is killed.
const holdFor = time.Minute

// freeWithin bounds the end of a call whose context has ended.
const freeWithin = 5 * time.Second

// hold is for a call that makes deliveries pending in steps, from the lowest on: an ordered subscription gets none of them, and nothing
// that is behind them, before the last step is done.
type hold struct {
	w     *Webhooks
	id    int64  // the subscription's
	mark  string // claimed_by of the first one, so that nobody else's claim is ended
	first int64  // its position; 0: no step has made any pending
}

func (w *Webhooks) newHold(id int64, by string) hold {
	return hold{w: w, id: id, mark: by + " " + uuid.NewString()}
}

// inTx runs a step in a transaction of its own. fn answers the lowest position that it has made pending, or 0.
//
// The first one's row is locked before fn locks any: a lane locks deliveries, and then the subscription.
func (h *hold) inTx(ctx context.Context, fn func(tx dialect.Tx) (lowest int64, err error)) error {
	var lowest int64
	err := h.w.run(ctx, func(tx dialect.Tx) (err error) {
		if h.first > 0 {
			if _, err := rows.Exec(ctx, tx, h.w.sql.SQL(keepFirst), holdFor.Milliseconds(), h.id, h.first, h.mark); err != nil {
				return err
			}
		}
		if lowest, err = fn(tx); err == nil && lowest > 0 && h.first == 0 {
			_, err = rows.Exec(ctx, tx, h.w.sql.SQL(holdFirst), h.mark, holdFor.Milliseconds(), h.id, lowest)
		}
		return err
	})
	if h.first == 0 && (err == nil || txn.IsUnknown(err)) { // it may have happened
		h.first = lowest
	}
	return err
}

// free ends the wait of the first one, also where ctx has ended.
func (h *hold) free(ctx context.Context) error {
	if h.first == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), freeWithin)
	defer cancel()
	return h.w.run(ctx, func(tx dialect.Tx) error {
		_, err := rows.Exec(ctx, tx, h.w.sql.SQL(freeFirst), h.id, h.first, h.mark)
		return err
	})
}
