package relay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/registry"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/topics"
)

const (
	// The handlers of this outbox with what became of one event in each: a handful of rows, and as many looks by primary
	// key. Records stand under a handler's first name.
	needed = `SELECT h.name, h.topics, h.former_name, h.from_seq, h.retired_ms, COALESCE(d.state, -1),
       COALESCE(d.attempts, 0), COALESCE(d.since_ms, 0), COALESCE(d.due_ms - (SELECT {clock}), 0), COALESCE(d.settled_ms, 0),
       COALESCE(d.last_error, '')
FROM {handlers} h LEFT JOIN {deliveries} d ON d.seq = ? AND d.handler = h.name
ORDER BY h.since_ms, h.name`

	// Rows of handlers are never deleted, so that their number tells whether any has come.
	countHandlers = `SELECT COUNT(*) FROM {handlers}`
)

// need is one handler that an event has.
type need struct {
	name      string   // its first
	shown     string   // its name here, or the newest
	own       *handler // nil: another process must run it
	served    bool     // it was left by another process, and stays so until it is through
	have      bool     // there is a record
	state     int
	attempts  int     // that are used up
	since     int64   // ms: when it was noted first; once attempts are used up: when it failed first
	due       int64   // ms: until its next try, or until it is free again
	claim     claimNo // outstanding: its last claim
	lastError string
}

// message is the event as the need's handler has it next.
func (n *need) message(e *event) Message {
	m := e.msg
	m.Attempt = n.attempts + 1
	return m
}

func (n *need) done() bool { return n.state == delivery.Done || n.state == delivery.Rejected }

// open: nothing final has become of it.
func (n *need) open() bool {
	return !n.done() && n.state != delivery.Dead && n.state != delivery.Running
}

// waits: its next try is not due, or another process has it in hand.
func (n *need) waits() bool {
	return n.due > 0 && (n.state == delivery.Failed || n.state == delivery.Outstanding)
}

// needs finds the handlers of an event. A handler that has been announced and has no beginning yet gets one first.
func (h *Handlers) needs(ctx context.Context, e *event) ([]need, error) {
	for {
		found, undecided, err := h.readNeeds(ctx, e)
		if err != nil || len(undecided) == 0 {
			return found, err
		}
		for _, name := range undecided {
			if err := h.decide(ctx, name); err != nil {
				return nil, err
			}
		}
	}
}

func (h *Handlers) readNeeds(ctx context.Context, e *event) (found []need, undecided []string, err error) {
	var names registry.Names
	var late []string // begin with later events
	e.known = 0
	err = rows.Each(ctx, h.own, h.sql.SQL(needed), []any{e.msg.Seq}, func(row *sql.Rows) error {
		var n need
		var former string
		var patterns []byte
		var from, retired, settled int64
		err := row.Scan(&n.name, &patterns, &former, &from, &retired, &n.state, &n.attempts, &n.since, &n.due, &settled, &n.lastError)
		if err != nil {
			return err
		}
		if n.state == delivery.Outstanding {
			n.claimed(claimNo(settled), n.attempts)
		}
		e.known++
		names.Add(n.name, former)
		if former != "" || retired != 0 {
			return nil
		}
		switch all, err := topics.Decode(patterns); {
		case err != nil:
			return fmt.Errorf("handler %q: %w", n.name, err)
		case from < 0 || all.Undecided():
			undecided = append(undecided, n.name)
		case e.msg.Seq >= from && all.Match(e.msg.Topic, e.msg.Seq):
			n.have = n.state != delivery.None
			found = append(found, n)
		case all.Takes(e.msg.Topic):
			late = append(late, n.name)
		}
		return nil
	})
	if err == nil && len(found) == 0 && len(undecided) == 0 {
		h.tellLate(e, late)
	}
	for i := range found {
		n := &found[i]
		n.shown, _ = names.Newest(n.name)
		if own := h.called(n.name); own != nil && topics.Match(own.Topics, e.msg.Topic) {
			n.own, n.shown = own, own.Name
		}
	}
	return found, undecided, err
}

// tellLate warns of an event that goes by because all handlers which take its topic begin later, once for each.
func (h *Handlers) tellLate(e *event, late []string) {
	for _, name := range late {
		own := h.called(name)
		if own == nil {
			continue
		}
		if _, told := h.late.LoadOrStore(name, true); !told {
			h.relay.log.Warn("an event goes by that was written before its handler began: "+
				"call Announce before such events are written, or begin with FromOldest",
				"handler", own.Name, "topic", e.msg.Topic, "id", e.msg.ID)
		}
	}
}

// reread is what became of an event in one handler by now.
func (h *Handlers) reread(ctx context.Context, seq int64, n *need) error {
	ctx, cancel := h.relay.bounded(context.WithoutCancel(ctx))
	defer cancel()
	err := rows.One(ctx, h.own, h.sql.SQL(readDelivery), []any{seq, n.name}, &n.state)
	if errors.Is(err, sql.ErrNoRows) {
		n.have, n.state = false, delivery.None
		return nil
	}
	n.have = err == nil
	return err
}

// recheck leaves in the outbox what went through its handlers before one came that may want it too: what is in hand when a
// handler is announced that begins with the oldest event.
func (r *Relay) recheck(ctx context.Context, tx dialect.Tx, all []ended) error {
	if r.handlers == nil || !slices.ContainsFunc(all, func(x ended) bool { return x.o.verdict == published }) {
		return nil
	}
	var n int
	if err := rows.One(ctx, tx, r.sql.SQL(countHandlers), nil, &n); err != nil {
		return fmt.Errorf("count handlers: %w", err)
	}
	for i, x := range all {
		if x.o.verdict == published && x.e.known != n {
			all[i].o, x.e.putBack = outcome{}, true
		}
	}
	return nil
}
