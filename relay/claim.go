package relay

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// A claim is two statements in one short transaction: a locking SELECT that skips what others have locked, then an
// UPDATE by primary key. Until it is settled or lapses the event is not due, which is what keeps others off it.
const (
	// By (state, due_ms, seq), filter and order alike: with a sort, InnoDB would lock every candidate and a second
	// claimer would see nothing. The clock is a scalar subquery, since PostgreSQL uses no index for a volatile function.
	// Nothing is ordered here: while a relay has its hands full it reads on from where it has come to, past the index entries
	// of what was deleted (see tail), and finds what has come before that within readOnFor.
	claimable = `SELECT ` + eventColumns + `, due_ms
FROM {events}{use_due} WHERE state = 0 AND due_ms >= ? AND due_ms <= (SELECT {clock}) ORDER BY due_ms, seq LIMIT ?{lock_skip}`

	// The attempt is counted here, before the hand-over, so that a crash counts too.
	claimList = `{update_events} SET attempts = attempts + 1, total_attempts = total_attempts + 1,
       claim_token = claim_token + 1, claimed_by = ?, due_ms = {clock} + ?
WHERE seq IN ({list}) AND state = 0`

	// A claim that lapsed: attempts are corrected by a number, then it is claimed again like any other.
	correctAttempts = `{update_events} SET attempts = attempts + ?, total_attempts = total_attempts + ? WHERE seq = ? AND state = 0`
	// A crash is a failure.
	noteCrash = `{update_events} SET attempts = attempts + ?, total_attempts = total_attempts + ?,
       ` + firstFailed + `, last_error = ?
WHERE seq = ? AND state = 0`

	putOff = `{update_events} SET due_ms = {clock} + ?, claimed_by = '' WHERE seq IN ({list}) AND state = 0`
)

// claim is a batch of rows that this relay owns until its deadline.
type claim struct {
	id       string // claimed_by of its rows: unique, so that a late owner's outcome fits no row
	deadline clocks.Deadline
	extended time.Duration // when it was extended last, by r.now().Mono
}

// found is what a claim's SELECT saw, sorted by what is to be done with it.
type found struct {
	fresh  []*event
	lapsed []*event
	broken []*event
	stuck  []int64
	paused []int64
	more   bool // there may be more
	cut    int  // see turn
	due    dueTail
}

func (s *claimSource) findClaimable(ctx context.Context, tx dialect.Tx, room int) (*found, error) {
	events, cut, due, err := s.readDue(ctx, tx, room)
	if err != nil {
		return nil, err
	}
	r, paused := s.r, s.pauses
	f := &found{more: cut > 0 || len(events) == room, cut: cut, due: due}
	for _, e := range events {
		e.scope = e.msg.ID
		e.msg.Token++ // as the claim will count it
		switch {
		case e.broken != nil:
			f.broken = append(f.broken, e)
		case paused.has(e.msg.Topic):
			f.paused = append(f.paused, e.msg.Seq)
		case r.stuck.holds(e.msg.Seq):
			f.stuck = append(f.stuck, e.msg.Seq)
		case e.by != "":
			f.lapsed = append(f.lapsed, e)
		default:
			f.fresh = append(f.fresh, e)
		}
	}
	return f, nil
}

// dueTail is where in the order of what is due a session's looks have come to.
type dueTail struct {
	from   int64         // ms; math.MinInt64: to the end
	looked time.Duration // from the beginning, by r.now().Mono
}

var noDueTail = dueTail{from: math.MinInt64}

// readDue reads up to room events that are due: from where the last look has come to, or from the beginning, where that is
// not enough or was not done for long.
func (s *claimSource) readDue(ctx context.Context, tx dialect.Tx, room int) (events []*event, cut int, now dueTail, err error) {
	now = s.due
	if s.r.now().Mono-now.looked > readOnFor {
		now.from = math.MinInt64
	}
	for {
		fromStart := now.from == math.MinInt64
		if fromStart {
			now.looked = s.r.now().Mono
		}
		events, cut, err = s.r.readRows(ctx, tx, &eventRow{withDue: true}, s.r.sql.SQL(claimable), []any{now.from, int64(room)})
		switch {
		case err != nil:
			return nil, 0, noDueTail, err
		case cut > 0 || len(events) == room:
			now.from = events[len(events)-1].due
			return events, cut, now, nil
		case fromStart:
			return events, cut, now, nil
		}
		now.from = math.MinInt64
	}
}

// claim takes rows into c, as many as there is room for. Lapsed ones are taken one at a time, with nothing else in hand.
func (s *claimSource) claim(ctx context.Context, tx dialect.Tx, c *claim, t *turn) error {
	r := s.r
	f, err := s.findClaimable(ctx, tx, t.room)
	if err != nil {
		return fmt.Errorf("find claimable: %w", err)
	}
	t.more, t.cut = f.more, f.cut
	for _, e := range f.broken {
		if _, err := rows.Exec(ctx, tx, r.sql.SQL(bury), 1, 1, errorText(e.broken), e.msg.Seq); err != nil {
			return err
		}
		t.buried = append(t.buried, ended{e, outcome{verdict: dead, err: e.broken}})
	}
	if len(f.stuck) > 0 {
		if err := r.execListAfter(ctx, tx, putOff, f.stuck, r.opts.PublishTimeout.Milliseconds()); err != nil {
			return err
		}
	}
	if len(f.paused) > 0 {
		if err := r.execList(ctx, tx, pauseList, f.paused); err != nil {
			return err
		}
	}
	byThemselves := len(f.lapsed) > 0 || r.single && len(f.fresh) > 0
	if t.alone, t.due = byThemselves, f.due; byThemselves {
		t.due = noDueTail // what is not taken now is taken next
	}
	switch {
	case byThemselves && t.empty && len(f.lapsed) > 0:
		t.more = true
		return r.claimLapsed(ctx, tx, c, f.lapsed[0], t)
	case byThemselves && t.empty:
		t.more = true
		c.id += markAlone
		return r.claimRows(ctx, tx, c, f.fresh[:1], t)
	case r.single:
		t.more = t.more || len(f.fresh) > 0
		return nil
	}
	return r.claimRows(ctx, tx, c, f.fresh, t)
}

func (r *Relay) claimRows(ctx context.Context, tx dialect.Tx, c *claim, events []*event, t *turn) error {
	if len(events) == 0 {
		return nil
	}
	seqs := make([]int64, len(events))
	for i, e := range events {
		seqs[i] = e.msg.Seq
		e.claim, e.guard = c, &c.deadline
	}
	t.batch = events
	return r.execListAfter(ctx, tx, claimList, seqs, c.id, r.opts.Lease.Milliseconds())
}

// claimLapsed takes one lapsed row alone, or gives it up if its crashes have used up its attempts.
func (r *Relay) claimLapsed(ctx context.Context, tx dialect.Tx, c *claim, e *event, t *turn) error {
	l, err := r.lapsed(ctx, tx, e)
	if err != nil {
		return err
	}
	c.id += l.mark
	if l.crashed && r.crashedOut(e) {
		t.buried = append(t.buried, ended{e, outcome{verdict: dead, err: errCrashed}})
		_, err := rows.Exec(ctx, tx, r.sql.SQL(bury), l.correct, l.correct, errCrashed.Error(), e.msg.Seq)
		return err
	}
	switch {
	case l.crashed:
		_, err = rows.Exec(ctx, tx, r.sql.SQL(noteCrash), l.correct, l.correct, errCrashed.Error(), e.msg.Seq)
	case l.correct != 0:
		_, err = rows.Exec(ctx, tx, r.sql.SQL(correctAttempts), l.correct, l.correct, e.msg.Seq)
	}
	if err != nil {
		return err
	}
	return r.claimRows(ctx, tx, c, []*event{e}, t)
}

// crashedOut reports whether the attempts that are counted so far, the last of which ended its process, are all it has.
// Then it was the last.
func (r *Relay) crashedOut(e *event) bool {
	e.msg.Attempt--
	if r.usedUp(e) {
		return true
	}
	e.msg.Attempt++
	return false
}
