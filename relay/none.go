package relay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// none works beside any number of other relays, Concurrency hand-overs at a time.
func (r *Relay) none(ctx context.Context, s *session, m mode) (int, error) {
	if err := r.unhold(ctx); err != nil {
		return 0, err
	}
	n, err := r.untilOver(ctx, s, m, func() (pass, error) {
		return r.roll(ctx, s, &claimSource{session: s, due: noDueTail}, m)
	})
	return n, r.besideStuck(err)
}

// claimSource is the outbox as one of many claimers works on it.
type claimSource struct {
	*session
	unknown bool // the last try's commit has an unknown outcome
	due     dueTail
}

// turn records outcomes and claims what is due, in one transaction.
func (s *claimSource) turn(ctx context.Context, t *turn) error {
	s.claims++
	s.unknown = false
	id := fmt.Sprintf("%s/%d", s.id, s.claims)
	refused := 0
	err := s.r.persist(ctx, s.session, t, func(ctx context.Context) (err error) {
		refused, err = s.tryTurn(ctx, t, id)
		return err
	})
	if err != nil {
		s.due = noDueTail
		if !s.unknown {
			s.r.refuse(countLate(t.ended))
		}
		return err
	}
	s.due = t.due
	s.r.refuse(refused)
	if err := s.lookAround(ctx, t); err != nil {
		s.r.log.Warn("look for work failed", "error", err)
		t.wait = 0 // what was recorded is recorded: the next turn looks
	}
	return nil
}

func (s *claimSource) tryTurn(ctx context.Context, t *turn, id string) (refused int, err error) {
	r := s.r
	from := r.now()
	var c *claim
	err = txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
		if s.unknown {
			happened, err := r.turnHappened(ctx, tx, t)
			if err != nil || happened {
				return err
			}
		}
		if err := r.recheck(ctx, tx, t.ended); err != nil {
			return err
		}
		var err error
		if refused, err = r.recordClaims(ctx, tx, t.ended); err != nil {
			return err
		}
		c = &claim{id: id}
		t.batch, t.buried, t.more, t.alone, t.cut, t.wait, t.due = nil, nil, false, false, 0, never, s.due
		if t.room == 0 || s.pauses.all() {
			return nil
		}
		c.deadline.Now = r.now
		c.deadline.Extend(from, r.opts.Lease)
		c.extended = from.Mono
		return s.claim(ctx, tx, c, t)
	})
	s.unknown = s.unknown || txn.IsUnknown(err)
	return refused, err
}

// turnHappened tells, after a commit whose outcome was unknown, whether it did happen: what it claimed is claimed, or,
// if it claimed nothing, what it settled is no longer claimed.
func (r *Relay) turnHappened(ctx context.Context, tx dialect.Tx, t *turn) (bool, error) {
	if len(t.batch) > 0 {
		return r.isClaimed(ctx, tx, t.batch[0].claim.id, t.batch)
	}
	for _, x := range t.ended {
		claimed, err := r.isClaimed(ctx, tx, x.e.claim.id, []*event{x.e})
		if err != nil || claimed {
			return false, err
		}
	}
	return true, nil
}

func (r *Relay) isClaimed(ctx context.Context, tx dialect.Tx, id string, events []*event) (bool, error) {
	seqs := make([]int64, len(events))
	for i, e := range events {
		seqs[i] = e.msg.Seq
	}
	claimed := false
	text, args := r.listArgs(lockPending, seqs, nil, nil)
	err := rows.Each(ctx, tx, text, args, func(row *sql.Rows) error {
		var seq int64
		var by string
		err := row.Scan(&seq, &by)
		claimed = claimed || by == id
		return err
	})
	return claimed, err
}

// lookAround tells "nothing to do" from "due, but in another relay's hands for the moment".
func (s *claimSource) lookAround(ctx context.Context, t *turn) error {
	if t.room == 0 || !t.empty || len(t.batch)+len(t.buried) > 0 || t.more {
		return nil
	}
	signs, err := s.probeNow(ctx)
	if err != nil {
		return err
	}
	if signs.due() {
		t.wait = 0
	}
	return nil
}

// keep extends the claims in hand, each third of a lease.
func (s *claimSource) keep(ctx context.Context, h *hand) {
	byClaim := make(map[*claim][]int64)
	for _, e := range h.unsettled() {
		byClaim[e.claim] = append(byClaim[e.claim], e.msg.Seq)
	}
	for c, seqs := range byClaim {
		if s.r.now().Mono-c.extended < s.r.opts.Lease/3 {
			continue
		}
		if err := s.extend(ctx, c, seqs); errors.Is(err, ErrLeaseLost) {
			h.stop(ErrLeaseLost)
		} else if err != nil {
			s.r.log.Warn("a claim could not be extended yet", "error", err, "left", c.deadline.Left())
		}
	}
}

func (s *claimSource) extend(ctx context.Context, c *claim, seqs []int64) error {
	ctx, stop := context.WithTimeout(ctx, max(c.deadline.Left(), time.Second))
	defer stop()
	from := s.r.now()
	var n int64
	err := txn.Run(ctx, s.r.db, s.r.d, func(tx dialect.Tx) error {
		var err error
		n, err = s.r.execListWith(ctx, tx, extendClaimed, seqs, []any{s.r.opts.Lease.Milliseconds()}, []any{c.id})
		return err
	})
	switch {
	case err != nil:
		return err
	case n == 0:
		return ErrLeaseLost
	}
	c.deadline.Extend(from, s.r.opts.Lease)
	c.extended = from.Mono
	return nil
}
