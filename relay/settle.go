package relay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

const (
	// The fence: one row, by primary key, changed first so that a late owner stops here. version makes it a
	// compare-and-swap, so that a commit of unknown outcome is not done twice.
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

	// From (state, seq, partition_no) alone; it counts one batch.
	countUpTo = `SELECT COUNT(*) FROM {events}{use_pending} WHERE state = 0 AND seq <= ?`
)

// ended is one event with what came of it.
type ended struct {
	e *event
	o outcome
}

// settlement is one transaction of an owner: it records outcomes and notes what is in hand next.
type settlement struct {
	ended []ended
	hand  inHand   // what is in hand afterwards
	next  []*event // read ahead and part of hand: only if nothing pending stands before or between them by now
}

// errOvertaken: something stands before what was read ahead, so it must be read again.
var errOvertaken = errors.New("read ahead is out of date")

// settle commits st under the session's token, trying again until it is known what happened or the lease is over. ok
// is whether st.next is in hand now. ErrLeaseLost: nothing was recorded.
func (s *session) settle(ctx context.Context, st settlement) (ok bool, err error) {
	pause := 5 * time.Millisecond
	for {
		ok, err = s.trySettle(ctx, &st)
		switch {
		case err == nil:
			s.hand, s.version = st.hand, s.version+1
			return ok, nil
		case errors.Is(err, ErrLeaseLost):
			s.r.refuse(len(st.ended))
			s.lose(err)
			return false, err
		}
		s.r.log.Warn("outcomes could not be recorded yet", "events", len(st.ended), "error", err)
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("settle: %w", err)
		case <-s.gone:
			return false, fmt.Errorf("settle: %w", err)
		case <-time.After(jitter(pause)):
			pause = min(2*pause, time.Second)
		}
	}
}

func (s *session) trySettle(ctx context.Context, st *settlement) (ok bool, err error) {
	err = txn.Run(ctx, s.r.db, s.r.d, func(tx dialect.Tx) error {
		done, err := s.passFence(ctx, tx, st.hand)
		if err != nil || done {
			return err
		}
		if err := s.r.record(ctx, tx, st.ended); err != nil {
			return err
		}
		return s.r.stillNext(ctx, tx, st.next)
	})
	if errors.Is(err, errOvertaken) {
		st.next, st.hand = nil, inHand{Suspects: st.hand.Suspects, Prior: st.hand.Prior}
		return s.trySettle(ctx, st)
	}
	return len(st.next) > 0, err
}

// passFence notes hand in the relay's row. done means that an earlier try, whose commit had an unknown outcome, did
// happen.
func (s *session) passFence(ctx context.Context, tx dialect.Tx, hand inHand) (done bool, err error) {
	n, err := execTx(ctx, tx, s.r.sql.SQL(fence), hand.encode(), s.id, s.ownedToken(), s.version)
	if err != nil || n == 1 {
		return false, err
	}
	var text string
	var version int64
	err = queryRow(ctx, tx, s.r.sql.SQL(lockRelay), []any{s.id}, &text, &version)
	switch {
	case err == sql.ErrNoRows:
		return false, fmt.Errorf("%w: another relay has taken over", ErrLeaseLost)
	case err != nil:
		return false, err
	case version == s.version+1 && text == hand.encode():
		return true, nil
	}
	return false, fmt.Errorf("%w: the relay's row was changed by another", ErrLeaseLost)
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

// stillNext refuses what was read ahead unless it is exactly what is pending up to its last event: a transaction that
// committed late, or a requeue, may have put something before it.
func (r *Relay) stillNext(ctx context.Context, tx dialect.Tx, next []*event) error {
	if len(next) == 0 {
		return nil
	}
	var n int
	last := next[len(next)-1].msg.Seq
	if err := queryRow(ctx, tx, r.sql.SQL(countUpTo), []any{last}, &n); err != nil {
		return err
	}
	if n != len(next) {
		return errOvertaken
	}
	return nil
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
