package webhook

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/fanout"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

const (
	// sweepEvery is how often what is too old is looked for.
	sweepEvery = time.Minute
	// sweepRows is how many rows a step of its own transaction changes.
	sweepRows = 500
	// anyAge as a time in ms: whatever it is due at.
	anyAge = math.MaxInt64
)

const (
	// All, by primary key.
	sweepList = `SELECT id, state, since_ms, hold_ms, {clock} FROM {subscriptions} ORDER BY id`

	// By (subscription_id, state, due_ms, feed_seq): due_ms of one that is settled is when it was.
	oldDeliveries = `SELECT feed_seq FROM {webhook_deliveries}{use_webhooks_due}
WHERE subscription_id = ? AND state = ? AND due_ms < ? ORDER BY due_ms, feed_seq LIMIT ?{lock_skip}`
	// By primary key.
	dropDeliveries = `{delete_webhooks} WHERE subscription_id = ? AND feed_seq IN ({list}) AND state > 0`
	expire         = `{update_webhooks} SET state = 2, claimed_by = '', due_ms = {clock}, settled_ms = {clock},
       last_error = 'the subscription was not active for too long'
WHERE subscription_id = ? AND feed_seq IN ({list}) AND state = 0`

	// By primary key, locked behind the deliveries, in the order in which all of this module locks rows.
	lockState = `SELECT state, since_ms, hold_ms, {clock} FROM {subscriptions} WHERE id = ?{lock}`

	// By primary key, from its beginning.
	anyDeliveries  = `SELECT feed_seq FROM {webhook_deliveries} WHERE subscription_id = ? ORDER BY feed_seq LIMIT ?{lock}`
	dropAny        = `{delete_webhooks} WHERE subscription_id = ? AND feed_seq IN ({list})`
	dropSubscribed = `DELETE FROM {subscriptions} WHERE id = ? AND state = 3`
)

// sweepAlways sweeps now and then until ctx ends. Several processes may do so at once.
func (w *Webhooks) sweepAlways(ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := w.Sweep(ctx); err != nil && ctx.Err() == nil {
			w.log.Warn("sweep failed", "error", err)
		}
		clocks.Sleep(ctx, sweepEvery/2+rand.N(sweepEvery))
	}
}

// Sweep deletes deliveries that were done longer ago than Retention or dead longer than DeadRetention, and what deleted
// subscriptions have left. Pending ones of a subscription that has not been active for PausedHold become dead. It works in
// steps that commit by themselves, and answers how many rows it changed, also beside an error, which is the database's. Run does
// it each minute.
func (w *Webhooks) Sweep(ctx context.Context) (int, error) {
	type listed struct {
		id int64
		idleness
	}
	var all []listed
	err := rows.Each(ctx, w.o.DB(), w.sql.SQL(sweepList), nil, func(row *sql.Rows) error {
		var k listed
		err := row.Scan(&k.id, &k.state, &k.since, &k.hold, &k.now)
		all = append(all, k)
		return err
	})
	total := 0
	step := func(n int, again error) {
		total += n
		err = again
	}
	for _, k := range all {
		if err == nil && k.state == fanout.Deleted {
			err = w.dropDeleted(ctx, k.id)
			continue
		}
		if err == nil {
			step(w.inSteps(ctx, oldDeliveries, dropDeliveries, nil, k.id, fanout.Done, k.now-w.opts.Retention.Milliseconds()))
		}
		if err == nil {
			step(w.inSteps(ctx, oldDeliveries, dropDeliveries, nil, k.id, fanout.Dead, k.now-w.opts.DeadRetention.Milliseconds()))
		}
		if err == nil && k.expired() {
			step(w.inSteps(ctx, oldDeliveries, expire, idleness.expired, k.id, fanout.Pending, int64(anyAge)))
		}
	}
	if err != nil {
		return total, fmt.Errorf("sweep: %w", err)
	}
	return total, nil
}

// idleness is for how long a subscription has been in its state, in ms.
type idleness struct{ state, since, hold, now int64 }

func (i idleness) expired() bool {
	return (i.state == fanout.Paused || i.state == fanout.Disabled) && i.since+i.hold < i.now
}

func (i idleness) deleted() bool { return i.state == fanout.Deleted }

// dropDeleted deletes what a deleted subscription has left, itself at last.
func (w *Webhooks) dropDeleted(ctx context.Context, id int64) error {
	if _, err := w.inSteps(ctx, anyDeliveries, dropAny, idleness.deleted, id); err != nil {
		return err
	}
	return w.run(ctx, func(tx dialect.Tx) error {
		_, err := rows.Exec(ctx, tx, w.sql.SQL(dropSubscribed), id)
		return err
	})
}

// inSteps finds deliveries of a subscription and changes them, again and again until fewer are found than a step takes, or
// the subscription is no longer what it was listed as: each step asks still, if it is not nil, of the locked row.
func (w *Webhooks) inSteps(ctx context.Context, find, change string, still func(idleness) bool, id int64, args ...any) (total int, err error) {
	for {
		n := 0
		err := w.run(ctx, func(tx dialect.Tx) error {
			numbers, err := rows.Int64s(ctx, tx, w.sql.SQL(find), append(append([]any{id}, args...), int64(sweepRows))...)
			if n = len(numbers); err != nil || n == 0 {
				return err
			}
			if still != nil {
				var i idleness
				err := rows.One(ctx, tx, w.sql.SQL(lockState), []any{id}, &i.state, &i.since, &i.hold, &i.now)
				if isNone(err) || err == nil && !still(i) {
					n = 0
					return nil
				}
				if err != nil {
					return err
				}
			}
			_, err = w.changeList(ctx, tx, change, numbers, id)
			return err
		})
		if err != nil || n < sweepRows {
			return total + n, err
		}
		total += n
		clocks.Sleep(ctx, 5*time.Millisecond) // lets others in
		if ctx.Err() != nil {
			return total, ctx.Err()
		}
	}
}
