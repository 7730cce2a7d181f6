package relay

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What was claimed is run and recorded, and then its event is due.
const (
	// By primary key. A claim that is another's by now changes nothing. since_ms: as in noteDelivery.
	freeDelivery = `{update_deliveries} SET attempts = ?, settled_ms = ?, due_ms = {clock} + ?, last_error = ?,
       since_ms = CASE WHEN ? = 1 THEN {clock} ELSE since_ms END
WHERE seq = ? AND handler = ? AND state = 0 AND settled_ms = ?`
	readEvent = `SELECT ` + eventColumns + `
FROM {events} WHERE seq = ? AND state NOT IN (1, 2)`
	// A claimed event is left as it is, but not left out: where its claim is being given back by a transaction that has not seen
	// yet that nothing is outstanding, PostgreSQL would not wait for a row that did not fit before.
	wakeEvent = `{update_events} SET due_ms = CASE WHEN claimed_by = '' THEN {clock} ELSE due_ms END WHERE seq = ? AND state IN (0, 5)`
)

// run runs a claimed delivery, and records what came of it. p is its place where it is alone; gaveUp is told where the
// handler does not return.
func (s *server) run(calls context.Context, l *left, p *place, gaveUp func()) (err error) {
	r := s.h.relay
	if p == nil {
		waiting, stop := context.WithTimeout(calls, r.opts.PublishTimeout)
		defer stop()
		if p, err = s.h.enter(waiting, l.n.own, nil, false); err != nil {
			return s.back(calls, l, err)
		}
	}
	defer p.leave()
	e, err := s.event(calls, l)
	if err != nil {
		return errors.Join(err, s.back(calls, l, nil))
	}
	if e == nil || s.lapsed(l) {
		return s.back(calls, l, nil)
	}
	n := l.n // what the call changes is its own
	returned := s.h.onStuck(e, func(took time.Duration) {
		if err := s.giveUp(calls, e, l, took); err != nil {
			r.log.Warn("that a handler does not return could not be recorded", "handler", l.n.shown, "seq", l.seq, "error", err)
		}
		p.gate()
		gaveUp()
	})
	got := s.h.deliver(calls, e, &n, false)
	returned()
	if got.woken || got.late != nil && got.err != nil {
		return nil
	}
	return s.record(calls, e, l, got.err)
}

// giveUp charges a handler that does not return.
func (s *server) giveUp(calls context.Context, e *event, l *left, took time.Duration) error {
	failure, charged := s.h.chargeHang(calls, e, took)
	if !charged {
		return nil
	}
	return s.record(calls, e, l, failure)
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
	events, _, err := r.readEvents(ctx, r.db, r.sql.SQL(readEvent), []any{l.seq})
	if err != nil || len(events) == 0 || events[0].broken != nil {
		return nil, err
	}
	e := events[0]
	e.msg.Attempt, e.firstFailed = l.n.attempts+1, 0
	if l.n.attempts > 0 {
		e.firstFailed = l.n.since
	}
	return e, nil
}

// later frees a delivery that is not done. Where nobody is charged it stays what it was, a claim that lapsed too. open is
// false if it is settled after all, or another process has it.
func (s *server) later(ctx context.Context, l *left, out outcome) (open bool, err error) {
	r := s.h.relay
	attempts, mark, wait, failures := l.counted, l.n.claim.mark(), r.opts.Poll, 0
	switch out.verdict {
	case failed, dead:
		attempts, mark, wait, failures = l.n.attempts+1, 0, out.wait, l.n.attempts+1
	case unavailable:
		wait = max(out.wait, jitter(r.opts.Backoff))
	case postponed:
		wait = out.wait
	}
	n, err := r.exec(ctx, freeDelivery, attempts, int64(mark), wait.Milliseconds(), errorText(out.err), failures,
		l.seq, l.n.name, int64(l.no))
	if err != nil {
		return true, fmt.Errorf("free the delivery: %w", err)
	}
	return n > 0, nil
}

// back frees a delivery that was not called. Nobody is charged. why says how long it is to wait, if that matters.
func (s *server) back(ctx context.Context, l *left, why error) error {
	ctx, stop := s.h.relay.bounded(context.WithoutCancel(ctx))
	defer stop()
	out := outcome{err: errNoTime}
	var later *postponedError
	if errors.As(why, &later) {
		out = outcome{verdict: postponed, err: why, wait: later.wait}
	}
	_, err := s.later(ctx, l, out)
	return err
}
