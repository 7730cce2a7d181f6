package relay

import (
	"context"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// total works as the one owner of the outbox, in the order of insertion: one chain, one hand-over at a time. It
// returns when the mode says so, when ctx ends, or with an error when it can't go on as the owner.
func (r *Relay) total(ctx context.Context, s *session, m mode) (int, error) {
	if err := r.unhold(ctx); err != nil {
		return 0, err
	}
	if _, err := s.look(ctx); err != nil {
		return 0, err
	}
	if topic, ok := s.pauses.topic(); ok {
		return 0, fmt.Errorf("%w: topic %q is paused: resume it, or pause everything", ErrTopicPaused, topic)
	}
	return r.untilOver(ctx, s, m, func() (pass, error) {
		if s.deadline.Over() {
			return pass{}, ErrLeaseLost
		}
		p, err := r.roll(ctx, s, totalSource{s}, m)
		err = r.besideStuck(err)
		if err == nil && m == dry && p.dry && p.wait == never {
			p.wait, err = totalSource{s}.stillDue(ctx, p.wait)
		}
		return p, err
	})
}

// totalSource is the outbox as its one owner works on it.
type totalSource struct{ *session }

func (totalSource) keep(context.Context, *hand) {} // the lease has a goroutine of its own

// turn records outcomes, reads the next batch, and notes what is in hand then. The read comes after the outcomes in
// the same transaction, so that it is always up to date.
func (s totalSource) turn(ctx context.Context, t *turn) error {
	return s.fencedTurn(ctx, t, func(ctx context.Context, tx dialect.Tx) (bool, error) {
		if err := s.r.settle(ctx, tx, t.ended, s.r.record); err != nil {
			return false, err
		}
		return s.readNext(ctx, tx, t)
	})
}

// readNext reads what follows, if there is room, and works out what is in hand then.
func (s totalSource) readNext(ctx context.Context, tx dialect.Tx, t *turn) (wrote bool, err error) {
	left := s.left(t)
	s.beginTail(t, nil)
	if t.room > 0 && !s.pauses.any() {
		if wrote, err = s.readTotal(ctx, tx, t, left.seqs()); err != nil {
			return wrote, err
		}
	}
	s.handOut(t, left)
	s.endTail(t, left)
	return wrote, nil
}

// stillDue tells "nothing is due" from "due by now" and "due, but locked by another": wait is 0 then.
func (s totalSource) stillDue(ctx context.Context, wait time.Duration) (time.Duration, error) {
	saw, err := s.probeNow(ctx)
	if saw.due() {
		wait = 0
	}
	return wait, err
}
