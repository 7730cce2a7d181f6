package relay

import (
	"context"
	"errors"
	"time"
)

// mode is how long a pass goes on.
type mode int

const (
	once    mode = iota // one batch
	dry                 // until nothing is due
	forever             // until the context ends
)

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
			r.waitFor(ctx, s, idle.afterError(), false)
		case m == once:
			return sum, nil
		case isPostponed(p.unavailable): // in OrderTotal: the first event waits for its handlers, and nothing is due before it is
			if m == dry && p.wait > 0 {
				return sum, nil
			}
			if p.published > 0 {
				idle.reset()
			}
			r.waitFor(ctx, s, min(idle.next(r.opts), max(p.wait, time.Millisecond)), true)
		case p.unavailable != nil && m == dry:
			return sum, p.unavailable
		case p.unavailable != nil:
			refused++
			s.rest(ctx, max(p.wait, jitter(backoff(r.opts.Backoff, r.opts.BackoffMax, refused))))
		case !p.dry:
			refused = 0
		case m == dry && p.wait > 0:
			return sum, nil
		default:
			refused = 0
			if p.handed > 0 {
				idle.reset()
			}
			if err := r.awaitWork(ctx, s, &idle, p.wait); err != nil && ctx.Err() == nil {
				r.log.Warn("look for work failed", "error", err)
				r.waitFor(ctx, s, idle.afterError(), false)
			}
		}
	}
	return sum, nil
}
