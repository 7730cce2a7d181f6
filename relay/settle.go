package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

const (
	// The fence: one row, by primary key. A late owner changes nothing here, and so its whole transaction is rolled
	// back. version makes it a compare-and-swap, so that a commit of unknown outcome is not done twice.
	fence = `UPDATE {relays} SET in_hand = ?, version = version + 1 WHERE id = ? AND token = ? AND version = ?`

	// Outcomes, by primary key.
	settleDelete = `{delete_events} WHERE seq IN ({list}) AND state = 0`
	settleKeep   = `{update_events} SET state = 1, attempts = attempts + 1, total_attempts = total_attempts + 1,
       claimed_by = '', due_ms = {clock}, settled_ms = {clock}
WHERE seq IN ({list}) AND state = 0`
	settleFailed = `{update_events} SET attempts = attempts + 1, total_attempts = total_attempts + 1, claimed_by = '',
       due_ms = {clock} + ?,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN {clock} ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0`
	settleDead = `{update_events} SET attempts = attempts + 1, total_attempts = total_attempts + 1, state = 2,
       claimed_by = '', due_ms = {clock}, settled_ms = {clock},
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN {clock} ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0`
)

// ended is one event with what came of it.
type ended struct {
	e *event
	o outcome
}

// totalSource is the outbox as its one owner works on it.
type totalSource struct{ *session }

func (totalSource) keep(context.Context, *hand) {} // the lease has a goroutine of its own

// turn records outcomes, reads the next batch, and notes what is in hand then. The read comes after the outcomes in
// the same transaction, so that it is always up to date.
func (s totalSource) turn(ctx context.Context, t *turn) error {
	err := s.r.persist(ctx, s.session, t, func(ctx context.Context) error { return s.tryTurn(ctx, t) })
	if errors.Is(err, ErrLeaseLost) {
		s.r.refuse(countRecorded(t.ended))
		s.lose(err)
	}
	return err
}

// persist tries a turn again and again, until it is known what happened. When ctx ends or the session is lost it is
// tried once more, so that outcomes which come too late are refused rather than forgotten.
func (r *Relay) persist(ctx context.Context, s *session, t *turn, try func(context.Context) error) error {
	pause := 5 * time.Millisecond
	for last := false; ; {
		err := try(ctx)
		if err == nil || errors.Is(err, ErrLeaseLost) {
			return err
		}
		r.log.Warn("outcomes could not be recorded yet", "events", len(t.ended), "error", err)
		if last {
			return fmt.Errorf("settle: %w", err)
		}
		select {
		case <-ctx.Done():
			last = true
		case <-s.gone:
			last = true
		case <-time.After(jitter(pause)):
			pause = min(2*pause, time.Second)
		}
		if last {
			fresh, cancel := r.bounded(context.WithoutCancel(ctx))
			defer cancel()
			ctx = fresh
		}
	}
}

func countRecorded(all []ended) int {
	n := int64(0)
	for _, x := range all {
		n += x.o.recorded()
	}
	return int(n)
}

func (s totalSource) tryTurn(ctx context.Context, t *turn) error {
	noted := false
	err := txn.Run(ctx, s.r.db, s.r.d, func(tx dialect.Tx) error {
		if s.unknown != nil {
			happened, err := s.happened(ctx, tx)
			switch {
			case err != nil:
				return err
			case happened && s.unknown == t:
				noted = true
				return nil
			case happened:
				s.version, s.noted = s.version+1, s.noting
			}
			s.unknown = nil
		}
		if err := s.r.record(ctx, tx, t.ended); err != nil {
			return err
		}
		if err := s.r.closeCrashes(ctx, tx, t.ended); err != nil {
			return err
		}
		if err := s.readNext(ctx, tx, t); err != nil {
			return err
		}
		noted = len(t.ended) > 0 || s.noting.encode() != s.noted.encode()
		if !noted {
			return nil // nothing to say: an idle look writes nothing
		}
		return s.passFence(ctx, tx)
	})
	if txn.IsUnknown(err) {
		s.unknown = t
	}
	if err != nil {
		return err
	}
	if noted {
		s.version++
	}
	s.noted, s.unknown = s.noting, nil
	return nil
}

// readNext reads what follows, if there is room, and works out what is in hand then.
func (s totalSource) readNext(ctx context.Context, tx dialect.Tx, t *turn) error {
	left := s.noted.after(t.ended)
	if t.empty {
		left = inHand{}
	}
	t.batch, t.more, t.alone, t.wait = nil, false, false, never
	if t.room > 0 {
		batch, more, wait, err := s.r.readTotal(ctx, tx, left.seqs(), t.room)
		if err != nil {
			return err
		}
		t.batch, t.alone = s.r.choose(batch, t.empty)
		t.more, t.wait = more || t.alone, wait
	}
	for _, e := range t.batch {
		e.guard, e.msg.Token = &s.deadline, s.ownedToken()
	}
	s.noting = left.with(t.batch, t.alone && t.empty)
	return nil
}

// happened tells, after a commit whose outcome was unknown, whether it did happen.
func (s totalSource) happened(ctx context.Context, tx dialect.Tx) (bool, error) {
	text, version, err := s.lockRow(ctx, tx)
	if err != nil {
		return false, err
	}
	return version == s.version+1 && text == s.noting.encode(), nil
}

// passFence notes what is in hand in the relay's row, or finds that the row is another's or gone by now.
func (s totalSource) passFence(ctx context.Context, tx dialect.Tx) error {
	n, err := execTx(ctx, tx, s.r.sql.SQL(fence), s.noting.encode(), s.id, s.ownedToken(), s.version)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: another relay has taken over", ErrLeaseLost)
	}
	return err
}

// record writes outcomes. Untouched events and those that only met an unavailable destination stay as they are.
func (r *Relay) record(ctx context.Context, tx dialect.Tx, all []ended) error {
	var done []int64
	for _, x := range all {
		seq := x.e.msg.Seq
		var err error
		switch x.o.verdict {
		case published:
			done = append(done, seq)
		case failed:
			_, err = execTx(ctx, tx, r.sql.SQL(settleFailed), x.o.wait.Milliseconds(), errorText(x.o.err), seq)
		case dead:
			_, err = execTx(ctx, tx, r.sql.SQL(settleDead), errorText(x.o.err), seq)
		}
		if err != nil {
			return err
		}
	}
	if len(done) == 0 {
		return nil
	}
	if r.opts.Retention > 0 {
		return r.execList(ctx, tx, settleKeep, done)
	}
	return r.execList(ctx, tx, settleDelete, done)
}

// tell reports outcomes that are recorded to the observers and the log, and counts the published.
func (r *Relay) tell(all []ended) (n int) {
	for _, x := range all {
		m := x.e.msg
		switch x.o.verdict {
		case published:
			n++
			for _, h := range r.hooks.published {
				h.Published(m, x.o.took)
			}
		case failed, unavailable:
			r.log.Warn("hand-over failed", "id", m.ID, "topic", m.Topic, "attempt", m.Attempt, "next", x.o.wait, "error", errorText(x.o.err))
			for _, h := range r.hooks.failed {
				h.Failed(m, x.o.err, x.o.wait)
			}
		case dead:
			r.log.Error("event is a dead letter", "id", m.ID, "topic", m.Topic, "attempt", m.Attempt, "error", errorText(x.o.err))
			for _, h := range r.hooks.dead {
				h.Dead(m, x.o.err)
			}
		}
	}
	return n
}
