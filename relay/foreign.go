package relay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/topics"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// While two releases run, an event may need a handler that the process which owns it does not know. Its deliveries to
// those are left as outstanding, and the event waits, with its key. A process that knows the handler serves them (see
// serve.go).
const (
	// A suspect's is left as a shared claim that lapsed, with its attempt.
	insertOutstanding = `INSERT INTO {deliveries} (settled_ms, attempts, handler, seq, state, due_ms, since_ms)
SELECT ?, ?, ?, seq, 0, {clock}, {clock} FROM {events} WHERE seq = ?`
	// By primary key.
	takeBack = `{update_deliveries} SET state = 3, settled_ms = {clock}, due_ms = {clock}
WHERE seq = ? AND handler = ? AND state = 0 AND attempts = ? AND settled_ms = ?`
	// By primary key. A process that knew the handler owned the event before.
	// What was called, and not heard of again, is left as a claim that lapsed.
	leaveFailed = `{update_deliveries} SET settled_ms = CASE WHEN state = 6 THEN -1 ELSE ? END,
    attempts = CASE WHEN state = 6 THEN attempts ELSE attempts + ? END, state = 0
WHERE handler = ? AND seq = ? AND state IN (3, 6)`
	// By primary key, and of a handful of handlers each.
	outstandingTopics = `SELECT h.topics FROM {deliveries} d JOIN {handlers} h ON h.name = d.handler
WHERE d.seq = ? AND d.state = 0 AND h.retired_ms = 0`
	dueAgain = `{update_events} SET due_ms = {clock} WHERE seq = ? AND state IN (0, 5)`
)

// takeBack makes an outstanding delivery that is due this event's own again, in a process that has the handler and serves
// nothing: nobody else runs it any more.
func (h *Handlers) takeBack(ctx context.Context, e *event, n *need) (taken bool, err error) {
	ctx, cancel := h.relay.bounded(ctx)
	defer cancel()
	err = txn.Run(ctx, h.own, h.d, func(tx dialect.Tx) (err error) {
		was := []any{e.msg.Seq, n.name, n.attempts, int64(n.claim)}
		taken, err = h.relay.changeIfFree(ctx, tx, lockOutstanding, takeBack, was)
		return err
	})
	switch {
	case err != nil:
		return false, h.notRun(ctx, fmt.Errorf("take back what was left: %w", err))
	case !taken:
		return false, &postponedError{err: errServed, wait: jitter(h.relay.opts.Poll), elsewhere: true}
	}
	n.state = delivery.Failed
	return true, nil
}

// errElsewhere is why an event waits for another process.
var errElsewhere = errors.New("it waits for a handler that only another release has for this topic; " +
	"RetireHandler takes away what is gone for good")

// leaveToOthers leaves an event's deliveries to processes that know the handlers.
func (h *Handlers) leaveToOthers(ctx context.Context, e *event, foreign []*need) error {
	ctx, cancel := h.relay.bounded(ctx)
	defer cancel()
	since, suspect := e.readAt, 0
	if e.by != "" {
		suspect = 1
	}
	for _, n := range foreign {
		statement := ""
		switch n.state {
		case delivery.None:
			statement = insertOutstanding
		case delivery.Failed, delivery.Watched:
			statement = leaveFailed
		default:
			since = min(since, n.since)
			continue
		}
		err := txn.Run(ctx, h.own, h.d, func(tx dialect.Tx) error {
			_, err := rows.Exec(ctx, tx, h.sql.SQL(statement), suspect, suspect, n.name, e.msg.Seq)
			return err
		})
		if err != nil && !isTaken(h.d.Classify(err)) {
			return h.notRun(ctx, fmt.Errorf("leave the event to handler %q: %w", n.shown, err))
		}
	}
	return &postponedError{err: fmt.Errorf("%w: %q", errElsewhere, foreign[0].shown), wait: h.patience(e, since), elsewhere: true}
}

// wakeIfServed makes an event due that waits for nobody any more: what it was to wait for has ended, or was retired, while it
// was in hand, and woke nobody. It was put aside before in the same transaction, so that whoever ends it now waits for the
// event's row, and finds it put aside.
func (r *Relay) wakeIfServed(ctx context.Context, tx dialect.Tx, x ended) error {
	if !isElsewhere(x.o.err) {
		return nil
	}
	m, waits := x.e.msg, false
	err := rows.Each(ctx, tx, r.sql.SQL(outstandingTopics), []any{m.Seq}, func(row *sql.Rows) error {
		var text []byte
		if err := row.Scan(&text); err != nil {
			return err
		}
		takes, err := topics.Decode(text) // needs says what can't be read
		waits = waits || err != nil || takes.Match(m.Topic, m.Seq)
		return nil
	})
	if err != nil || waits {
		return err
	}
	_, err = rows.Exec(ctx, tx, r.sql.SQL(dueAgain), m.Seq)
	return err
}
