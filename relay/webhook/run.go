package webhook

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/startup"
)

// What there is to do, for all subscriptions at once: when something of each is due. That of an ordered one is its lowest
// pending delivery, by (subscription_id, state, feed_seq); of the others, whatever is due first, by (subscription_id, state,
// due_ms, feed_seq). The whole index is the order: PostgreSQL would take the primary key for shorter, and MySQL would sort.
const probe = `SELECT id, {clock}, rest_ms, COALESCE(CASE WHEN in_order = 1 THEN (
         SELECT due_ms FROM {webhook_deliveries}{use_webhooks_order} WHERE subscription_id = id AND state <= 0
          ORDER BY subscription_id, state, feed_seq LIMIT 1
       ) ELSE (
         SELECT due_ms FROM {webhook_deliveries}{use_webhooks_due} WHERE subscription_id = id AND state <= 0
          ORDER BY subscription_id, state, due_ms, feed_seq LIMIT 1
       ) END, -1)
FROM {subscriptions} WHERE state = 0`

// Run sends deliveries until ctx ends, and answers nil then. Requests that are under way get a few seconds more, and so does
// recording what came of them. While the database is away it waits. Another error says that nothing can be done: that of
// Outbox.Check, or ErrRunning.
func (w *Webhooks) Run(ctx context.Context) error {
	if !w.running.TryLock() {
		return fmt.Errorf("run webhooks: %w", ErrRunning)
	}
	defer w.running.Unlock()
	err := startup.Check(ctx, w.o, w.opts.Lease, func(away error) {
		w.log.Warn("the database is away", "error", away)
		clocks.Sleep(ctx, w.opts.Poll)
	})
	if err != nil {
		return fmt.Errorf("run webhooks: %w", err)
	}
	w.group.Go(func() { w.sweepAlways(ctx) })
	w.look(ctx)
	w.group.Wait()
	w.client.close()
	return nil
}

// look nudges the lanes that have something to do, again and again.
func (w *Webhooks) look(ctx context.Context) {
	for ctx.Err() == nil {
		start := time.Now()
		due, next, err := w.probe(ctx)
		took := time.Since(start)
		if err != nil && ctx.Err() == nil {
			w.log.Warn("look for deliveries failed", "error", err)
			next = w.opts.Poll
		}
		for _, id := range due {
			w.nudge(ctx, id)
		}
		clocks.Sleep(ctx, min(took, w.opts.Poll)) // half of the time at most, however often it is woken
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// probe answers which subscriptions have something due, and how long to wait for the next.
func (w *Webhooks) probe(ctx context.Context) (due []int64, next time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.opts.Lease)
	defer cancel()
	next = w.opts.Poll - w.opts.Poll/4 + rand.N(w.opts.Poll/2+1)
	err = rows.Each(ctx, w.o.DB(), w.sql.SQL(probe), nil, func(row *sql.Rows) error {
		var id, now, rest, at int64
		if err := row.Scan(&id, &now, &rest, &at); err != nil {
			return err
		}
		switch wait := max(at, rest); {
		case at < 0: // nothing is pending
		case wait <= now:
			due = append(due, id)
		default:
			next = min(next, time.Duration(wait-now)*time.Millisecond)
		}
		return nil
	})
	return due, next, err
}

// nudge has a subscription's lane look again, or starts it.
func (w *Webhooks) nudge(ctx context.Context, id int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.lanes[id]; l != nil {
		signal(l.nudged)
		return
	}
	l := newLane(w, id)
	w.lanes[id] = l
	w.group.Go(func() { l.run(ctx) })
}

// ended takes a lane away, unless it was nudged meanwhile. At the end of Run that is no matter.
func (w *Webhooks) ended(l *lane, always bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-l.nudged:
		if !always {
			return false
		}
	default:
	}
	delete(w.lanes, l.id)
	return true
}

// isNone reports whether an error says that there is no such row.
func isNone(err error) bool { return errors.Is(err, sql.ErrNoRows) }
