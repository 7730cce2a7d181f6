package relay

import (
	"context"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// A handler's transaction is gone with its process, and so are its attempt and its name. So where a crash must name its
// culprit, when one attempt is all, or the event has been in a crash, each call is noted before it is made. An event goes
// alone then, and its handlers one after another.
const (
	// By the first column of the primary key, without a lock.
	watchedOf = `SELECT handler FROM {deliveries} WHERE seq = ? AND state = 6`
	// By primary key.
	chargeWatched = `{update_deliveries} SET attempts = attempts + 1 WHERE seq = ? AND handler = ? AND state = 6`
)

// crashed: the process that called it has ended, or has given up its lease, before it could note what came of it.
func (n *need) crashed() bool {
	return n.state == delivery.Watched || n.claim.alone()
}

// watch notes the call that is to come. over: there is none.
func (h *Handlers) watch(ctx context.Context, e *event, m Message, n *need) (over bool, err error) {
	was, err := h.note(ctx, m.Seq, n.name, noted{state: delivery.Watched, attempts: m.Attempt})
	switch {
	case err != nil:
		return true, Unavailable(fmt.Errorf("note that it is called: %w", err))
	case was == delivery.Done || was == delivery.Rejected:
		return true, nil
	case was == delivery.Running:
		return true, h.conclude(ctx, e, m, n, result{err: Permanent(errCommitted)}, 0)
	}
	n.have = true
	return false, nil
}

// unwatch takes back the note of a call that is not to be charged.
func (h *Handlers) unwatch(ctx context.Context, m Message, n *need) {
	if _, err := h.note(ctx, m.Seq, n.name, noted{state: delivery.Failed, attempts: n.attempts, text: n.lastError}); err != nil {
		h.relay.log.Warn("a handler is charged for a call that was cut off: that could not be recorded", "handler", n.shown, "id", m.ID, "error", err)
	}
}

// chargeWatched charges the handler that was called when a process ended for one more crash: the one that has made a suspect
// of its event.
func (r *Relay) chargeWatched(ctx context.Context, tx dialect.Tx, seq int64) error {
	if r.handlers == nil {
		return nil
	}
	names, err := rows.Column[string](ctx, tx, r.sql.SQL(watchedOf), seq)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := rows.Exec(ctx, tx, r.sql.SQL(chargeWatched), seq, name); err != nil {
			return err
		}
	}
	return nil
}
