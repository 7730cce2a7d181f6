package relay

import (
	"context"
	"fmt"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// A claim is two statements in one short transaction: a locking SELECT that skips what others have locked, then an
// UPDATE by primary key. Until it is settled or lapses the event is not due, which is what keeps others off it.
const (
	// By (state, due_ms, seq), filter and order alike: with a sort, InnoDB would lock every candidate and a second
	// claimer would see nothing. The clock is a scalar subquery, since PostgreSQL uses no index for a volatile function.
	claimable = `SELECT ` + eventColumns + `, claimed_by, claim_token
FROM {events}{use_due} WHERE state = 0 AND due_ms <= (SELECT {clock}) ORDER BY due_ms, seq LIMIT ?{lock_skip}`

	// The attempt is counted here, before the hand-over, so that a crash counts too.
	claimList = `UPDATE {events} SET attempts = attempts + 1, total_attempts = total_attempts + 1,
       claim_token = claim_token + 1, claimed_by = ?, due_ms = {clock} + ?
WHERE seq IN ({list}) AND state = 0`

	// A claim that lapsed: attempts are corrected by a number, then it is claimed again like any other.
	correctAttempts = `UPDATE {events} SET attempts = attempts + ?, total_attempts = total_attempts + ? WHERE seq = ? AND state = 0`

	putOff = `UPDATE {events} SET due_ms = {clock} + ?, claimed_by = '' WHERE seq IN ({list}) AND state = 0`

	buryClaimed = `UPDATE {events} SET attempts = attempts + ?, total_attempts = total_attempts + ?, state = 2,
       claimed_by = '', due_ms = {clock}, settled_ms = {clock},
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN {clock} ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0`
)

// claim is a batch of rows that this relay owns until its deadline.
type claim struct {
	id       string // claimed_by of its rows: unique, so that a late owner's outcome fits no row
	events   []*event
	alone    bool
	deadline deadline
}

// Marks at the end of a claim's id tell whoever finds it lapsed what a crash meant. A lapsed claim of many rows made
// suspects of them: each is claimed again alone, and not charged. A lapsed claim of one row that was alone is that
// row's doing: it is charged for it, and for the crash that made it a suspect.
const (
	markAlone = "!"
	markPrior = "!!" // alone, and the crash before is not explained yet
)

// found is what a claim's SELECT saw, sorted by what is to be done with it.
type found struct {
	fresh  []*event
	lapsed []*event
	by     []string // claimed_by of lapsed
	broken []*event
	stuck  []int64
}

func (f *found) empty() bool {
	return len(f.fresh)+len(f.lapsed)+len(f.broken)+len(f.stuck) == 0
}

// claim takes up to a batch. waiting means that lapsed claims are to be taken alone, once nothing else is in hand.
func (s *session) claim(ctx context.Context, idle bool) (c *claim, buried []ended, waiting bool, err error) {
	r := s.r
	s.claims++
	id := fmt.Sprintf("%s/%d", s.id, s.claims)
	from := r.now()
	err = txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
		c, buried, waiting = &claim{id: id}, nil, false
		f, err := r.findClaimable(ctx, tx)
		if err != nil || f.empty() {
			return err
		}
		for _, e := range f.broken {
			if _, err := execTx(ctx, tx, r.sql.SQL(buryClaimed), 1, 1, errorText(e.broken), e.msg.Seq); err != nil {
				return err
			}
			buried = append(buried, ended{e, outcome{verdict: dead, err: e.broken}})
		}
		if len(f.stuck) > 0 {
			if err := r.execListAfter(ctx, tx, putOff, f.stuck, r.opts.PublishTimeout.Milliseconds()); err != nil {
				return err
			}
		}
		switch {
		case len(f.lapsed) > 0 && idle:
			givenUp, err := s.claimLapsed(ctx, tx, c, f.lapsed[0], f.by[0])
			buried = append(buried, givenUp...)
			return err
		case r.opts.MaxAttempts == 1 && len(f.fresh) > 0:
			if !idle {
				waiting = true
				return nil
			}
			c.id, c.alone = id+markAlone, true
			return s.claimRows(ctx, tx, c, f.fresh[:1])
		}
		waiting = len(f.lapsed) > 0
		return s.claimRows(ctx, tx, c, f.fresh)
	})
	if err != nil {
		return nil, nil, false, fmt.Errorf("claim: %w", err)
	}
	c.deadline.now = r.now
	c.deadline.extend(from, r.opts.Lease)
	return c, buried, waiting, nil
}

func (r *Relay) findClaimable(ctx context.Context, tx dialect.Tx) (*found, error) {
	rows, err := tx.QueryContext(ctx, r.sql.SQL(claimable), int64(r.opts.Batch))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var f found
	bytes := 0
	for rows.Next() {
		var by string
		var token int64
		e, err := scanEvent(rows, &by, &token)
		if err != nil {
			return nil, err
		}
		e.read, e.msg.Token = r.now(), token+1
		switch {
		case e.broken != nil:
			f.broken = append(f.broken, e)
		case r.stuck.holds(e.msg.Seq):
			f.stuck = append(f.stuck, e.msg.Seq)
		case by != "":
			f.lapsed, f.by = append(f.lapsed, e), append(f.by, by)
		default:
			f.fresh = append(f.fresh, e)
		}
		if bytes += e.size(); bytes > maxBatchBytes {
			break
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return &f, rows.Close()
}

func (s *session) claimRows(ctx context.Context, tx dialect.Tx, c *claim, events []*event) error {
	if len(events) == 0 {
		return nil
	}
	c.events = events
	seqs := make([]int64, len(events))
	for i, e := range events {
		seqs[i] = e.msg.Seq
	}
	return s.r.execListAfter(ctx, tx, claimList, seqs, c.id, s.r.opts.Lease.Milliseconds())
}

// claimLapsed takes one lapsed row alone, or gives it up if its crashes have used up its attempts.
func (s *session) claimLapsed(ctx context.Context, tx dialect.Tx, c *claim, e *event, by string) (givenUp []ended, err error) {
	correct := -1 // its claim lapsed with others: not charged
	c.alone = true
	switch {
	case strings.HasSuffix(by, markPrior):
		correct = 1 // counted once at its claim; the crash that made it a suspect was its doing too
		c.id += markAlone
	case strings.HasSuffix(by, markAlone):
		correct = 0
		c.id += markAlone
	default:
		c.id += markPrior
	}
	e.msg.Attempt += correct - 1 // what is counted so far
	if correct >= 0 && s.r.usedUp(e) {
		c.alone = false
		_, err := execTx(ctx, tx, s.r.sql.SQL(buryClaimed), correct, correct, errCrashed.Error(), e.msg.Seq)
		return []ended{{e, outcome{verdict: dead, err: errCrashed}}}, err
	}
	e.msg.Attempt++
	if correct != 0 {
		if _, err := execTx(ctx, tx, s.r.sql.SQL(correctAttempts), correct, correct, e.msg.Seq); err != nil {
			return nil, err
		}
	}
	return nil, s.claimRows(ctx, tx, c, []*event{e})
}
