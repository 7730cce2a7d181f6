package relay

import (
	"context"
	"errors"
	"fmt"
)

// mode is how long a pass goes on.
type mode int

const (
	once    mode = iota // one batch
	dry                 // until nothing is due
	forever             // until the context ends
)

// errPublisherStuck ends an ownership whose publisher does not return.
var errPublisherStuck = fmt.Errorf("give up the lease: %w", ErrStuck)

// total works as the one owner of the outbox, in the order of insertion: one chain, one hand-over at a time. It
// returns when the mode says so, when ctx ends, or with an error when it can't go on as the owner.
func (r *Relay) total(ctx context.Context, s *session, m mode) (int, error) {
	return r.untilOver(ctx, s, m, func() (pass, error) {
		if s.deadline.over() {
			return pass{}, ErrLeaseLost
		}
		p, err := r.roll(ctx, s, totalSource{s}, 1, m)
		if r.stuck.any() != nil { // whatever else went wrong
			err = errPublisherStuck
		}
		return p, err
	})
}

// untilOver rolls again and again, waiting in between, until the mode says that it is over.
func (r *Relay) untilOver(ctx context.Context, s *session, m mode, roll func() (pass, error)) (sum int, err error) {
	var idle idleWait
	refused := 0 // how many times in a row the destination was unavailable
	for ctx.Err() == nil {
		if s.isLost() {
			return sum, ErrLeaseLost
		}
		p, err := roll()
		sum += p.published
		switch {
		case errors.Is(err, ErrLeaseLost), errors.Is(err, ErrStuck):
			return sum, err
		case ctx.Err() != nil:
			return sum, nil
		case err != nil && m != forever:
			return sum, err
		case err != nil:
			r.log.Warn("pass failed", "error", err)
			r.pause(ctx, s, idle.afterError(), false)
		case m == once:
			return sum, nil
		case p.unavailable != nil && m == dry:
			return sum, p.unavailable
		case p.unavailable != nil:
			refused++
			r.pause(ctx, s, max(p.wait, jitter(backoff(r.opts.Backoff, r.opts.BackoffMax, refused))), false)
		case !p.dry:
			refused = 0
		case m == dry && p.wait > 0:
			return sum, nil
		default:
			refused = 0
			if p.handed > 0 {
				idle.reset()
			}
			if err := r.awaitWork(ctx, s, &idle, p.wait); err != nil {
				r.log.Warn("look for work failed", "error", err)
				r.pause(ctx, s, idle.afterError(), false)
			}
		}
	}
	return sum, nil
}

func (r *Relay) claimed(n int) {
	for _, h := range r.hooks.claimed {
		h.Claimed(n)
	}
}

func nilUnless(cond bool, err error) error {
	if cond {
		return err
	}
	return nil
}
