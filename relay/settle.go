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
	settleDelete = `DELETE FROM {events} WHERE seq IN ({list}) AND state = 0`
	settleKeep   = `UPDATE {events} SET state = 1, attempts = attempts + 1, total_attempts = total_attempts + 1,
       claimed_by = '', due_ms = {clock}, settled_ms = {clock}
WHERE seq IN ({list}) AND state = 0`
	settleFailed = `UPDATE {events} SET attempts = attempts + 1, total_attempts = total_attempts + 1, due_ms = {clock} + ?,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN {clock} ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0`
	settleDead = `UPDATE {events} SET attempts = attempts + 1, total_attempts = total_attempts + 1, state = 2,
       claimed_by = '', due_ms = {clock}, settled_ms = {clock},
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN {clock} ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0`
)

// ended is one event with what came of it.
type ended struct {
	e *event
	o outcome
}

// settlement is one transaction of an owner: it records outcomes, reads the next batch, and notes that as in hand. The
// read comes after the outcomes in the same transaction, so that it is always up to date.
type settlement struct {
	ended []ended
	rest  []*event // of the batch, not handed over yet: stays in hand, and nothing is read
	read  bool     // read the next batch

	batch []*event      // what was read
	wait  time.Duration // nothing was: until the head is due
	hand  inHand        // as noted
}

// settle commits st under the session's token, trying again until it is known what happened or ctx ends. ErrLeaseLost:
// nothing was recorded.
func (s *session) settle(ctx context.Context, st *settlement) error {
	pause := 5 * time.Millisecond
	for {
		err := s.trySettle(ctx, st)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, ErrLeaseLost):
			refused := int64(0)
			for _, x := range st.ended {
				refused += x.o.recorded()
			}
			s.r.refuse(int(refused))
			s.lose(err)
			return err
		}
		s.r.log.Warn("outcomes could not be recorded yet", "events", len(st.ended), "error", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("settle: %w", err)
		case <-s.gone:
			return fmt.Errorf("settle: %w", err)
		case <-time.After(jitter(pause)):
			pause = min(2*pause, time.Second)
		}
	}
}

func (s *session) trySettle(ctx context.Context, st *settlement) error {
	noted := false
	err := txn.Run(ctx, s.r.db, s.r.d, func(tx dialect.Tx) error {
		if s.unknown {
			happened, err := s.happened(ctx, tx, st)
			if err != nil || happened {
				noted = happened
				return err
			}
		}
		if err := s.r.record(ctx, tx, st.ended); err != nil {
			return err
		}
		s.next(st, nil)
		if st.read {
			batch, wait, err := s.r.readTotal(ctx, tx)
			if err != nil {
				return err
			}
			st.wait = wait
			s.next(st, batch)
		}
		noted = len(st.ended) > 0 || st.hand.encode() != s.hand.encode()
		if !noted {
			return nil // nothing to say: an idle look writes nothing
		}
		return s.passFence(ctx, tx, st.hand)
	})
	s.unknown = s.unknown && err != nil || txn.IsUnknown(err)
	if err != nil {
		return err
	}
	if noted {
		s.version++
	}
	s.hand = st.hand
	return nil
}

// next works out what is in hand once st is settled.
func (s *session) next(st *settlement, batch []*event) {
	left := s.hand.after(st.ended)
	if len(st.rest) > 0 {
		st.hand = left.with(st.rest)
		return
	}
	st.batch = s.choose(left, batch)
	for _, e := range st.batch {
		e.msg.Token = s.ownedToken()
	}
	st.hand = s.handOf(left, st.batch)
}

// happened tells, after a commit whose outcome was unknown, whether it did happen.
func (s *session) happened(ctx context.Context, tx dialect.Tx, st *settlement) (bool, error) {
	text, version, err := s.lockRow(ctx, tx)
	if err != nil {
		return false, err
	}
	return version == s.version+1 && text == st.hand.encode(), nil
}

// passFence notes hand in the relay's row, or finds that the row is another's or gone by now.
func (s *session) passFence(ctx context.Context, tx dialect.Tx, hand inHand) error {
	n, err := execTx(ctx, tx, s.r.sql.SQL(fence), hand.encode(), s.id, s.ownedToken(), s.version)
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
