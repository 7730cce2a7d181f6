package relay

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What was claimed is run and recorded, and then its event is due.
const (
	// By primary key. A claim that is another's by now changes nothing.
	freeDelivery = `{update_deliveries} SET attempts = ?, settled_ms = ?, due_ms = {clock} + ?, last_error = ?
WHERE seq = ? AND handler = ? AND state = 0 AND settled_ms = ?`
	readEvent = `SELECT ` + eventColumns + `
FROM {events} WHERE seq = ? AND state NOT IN (1, 2)`
	wakeEvent = `{update_events} SET due_ms = {clock} WHERE seq = ? AND state IN (0, 5) AND claimed_by = ''`
)

// run runs a claimed delivery, and records what came of it. leave is how it leaves the gate where it is alone; gaveUp is
// told where the handler does not return.
func (s *server) run(calls context.Context, l *left, leave, gaveUp func()) error {
	r := s.h.relay
	if leave == nil {
		waiting, cancel := context.WithTimeout(calls, r.opts.PublishTimeout)
		defer cancel()
		var err error
		if leave, err = s.h.gate.enter(waiting, false); err != nil {
			return s.back(calls, l)
		}
	}
	defer leave()
	e, err := s.event(calls, l)
	if err != nil {
		return errors.Join(err, s.back(calls, l))
	}
	if e == nil || s.lapsed(l) {
		return s.back(calls, l)
	}
	n := l.n // what the call changes is its own
	returned := s.h.onStuck(e, func(took time.Duration) {
		if err := s.giveUp(calls, e, l, took); err != nil {
			r.log.Warn("that a handler does not return could not be recorded", "handler", l.n.shown, "seq", l.seq, "error", err)
		}
		leave()
		gaveUp()
	})
	got := s.h.deliver(calls, e, &n, false)
	returned()
	if got.woken {
		return nil
	}
	return s.record(calls, e, l, got.err)
}

// giveUp charges a handler that does not return. What it answers in the end finds the claim gone.
func (s *server) giveUp(calls context.Context, e *event, l *left, took time.Duration) error {
	n, m := l.n, e.msg
	m.Attempt = n.attempts + 1
	return s.record(calls, e, l, s.h.conclude(calls, e, m, &n, result{err: ErrStuck, ran: true}, took))
}

// record records what came of a delivery. One that is through makes its event due.
func (s *server) record(calls context.Context, e *event, l *left, failure error) error {
	keep, stop := s.h.relay.bounded(context.WithoutCancel(calls))
	defer stop()
	if failure != nil && !IsPermanent(failure) {
		out := s.h.relay.judge(calls, e, failure, 0)
		if open, err := s.later(keep, l, out); err != nil || open {
			return err
		}
	}
	_, err := s.h.relay.exec(keep, wakeEvent, l.seq)
	return err
}

// event is what a delivery is of, with the attempts of the delivery; nil if it is not to be run any more.
func (s *server) event(ctx context.Context, l *left) (*event, error) {
	r := s.h.relay
	ctx, cancel := r.bounded(ctx)
	defer cancel()
	found, err := r.db.QueryContext(ctx, r.sql.SQL(readEvent), l.seq)
	if err != nil {
		return nil, err
	}
	events, _, err := r.readEvents(found)
	if err != nil || len(events) == 0 || events[0].broken != nil {
		return nil, err
	}
	e := events[0]
	e.msg.Attempt, e.firstFailed = l.n.attempts+1, l.n.since
	return e, nil
}

// later frees a delivery that is not done. Where nobody is charged it stays what it was, a claim that lapsed too. open is
// false if it is settled after all, or another process has it.
func (s *server) later(ctx context.Context, l *left, out outcome) (open bool, err error) {
	r := s.h.relay
	attempts, mark, wait := l.counted, l.n.claim.mark(), r.opts.Poll
	switch out.verdict {
	case failed, dead:
		attempts, mark, wait = l.n.attempts+1, 0, out.wait
	case unavailable:
		wait = max(out.wait, jitter(r.opts.Backoff))
	case postponed:
		wait = out.wait
	}
	n, err := r.exec(ctx, freeDelivery, attempts, int64(mark), wait.Milliseconds(), errorText(out.err), l.seq, l.n.name, int64(l.no))
	if err != nil {
		return true, fmt.Errorf("free the delivery: %w", err)
	}
	return n > 0, nil
}

// back frees a delivery that was not called. Nobody is charged.
func (s *server) back(ctx context.Context, l *left) error {
	ctx, stop := s.h.relay.bounded(context.WithoutCancel(ctx))
	defer stop()
	_, err := s.later(ctx, l, outcome{err: errNoTime})
	return err
}
