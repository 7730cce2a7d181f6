package relay

import (
	"context"
	"errors"
	"fmt"
	"time"
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

// total works as the one owner of the outbox, in the order of insertion. It returns when the mode says so, when ctx
// ends, or with an error when it can't go on as the owner.
func (r *Relay) total(ctx context.Context, s *session, m mode) (int, error) {
	sum := 0
	var idle idleWait
	var refused int // how many times in a row the destination was unavailable
	for ctx.Err() == nil {
		if s.isLost() || s.deadline.over() {
			return sum, ErrLeaseLost
		}
		p, err := r.passTotal(ctx, s, m)
		sum += p.published
		switch {
		case ctx.Err() != nil:
			return sum, nil
		case errors.Is(err, ErrLeaseLost), errors.Is(err, errPublisherStuck):
			return sum, err
		case err != nil && m != forever:
			return sum, err
		case err != nil:
			r.log.Warn("pass failed", "error", err)
			r.pause(ctx, s, idle.afterError(r.opts), false)
			continue
		case p.unavailable != nil:
			if m != forever {
				return sum, nilUnless(m == dry, p.unavailable)
			}
			refused++
			r.pause(ctx, s, max(p.wait, jitter(backoff(r.opts.Backoff, r.opts.BackoffMax, refused))), false)
			continue
		}
		refused = 0
		if m == once || m == dry && p.handed == 0 {
			return sum, nil
		}
		if p.handed > 0 {
			idle.reset()
			continue
		}
		if err := r.awaitWork(ctx, s, &idle, p.wait); err != nil {
			r.log.Warn("look for work failed", "error", err)
			r.pause(ctx, s, idle.afterError(r.opts), false)
		}
	}
	return sum, nil
}

func nilUnless(cond bool, err error) error {
	if cond {
		return err
	}
	return nil
}

// pass is what one look at the outbox led to.
type pass struct {
	handed      int // hand-overs and broken rows dealt with
	published   int
	wait        time.Duration // nothing handed over: until the head is due; unavailable: as the publisher asked
	unavailable error
}

// passTotal takes what is pending from its beginning, batch by batch, for as long as nothing stops it. Each batch costs
// one transaction, which settles the one before, reads it, and notes it as in hand.
func (r *Relay) passTotal(ctx context.Context, s *session, m mode) (pass, error) {
	var p pass
	if err := s.probeSometimes(ctx); err != nil {
		return p, err
	}
	st := settlement{read: true}
	for {
		keep, cancel := r.detached(ctx, s)
		err := s.settle(keep, &st)
		cancel()
		if err != nil {
			return p, err
		}
		p.published += r.tell(st.ended)
		batch := st.batch
		switch {
		case r.stuck.any() != nil:
			return p, errPublisherStuck
		case s.isLost() || s.deadline.over():
			return p, ErrLeaseLost
		case len(batch) == 0:
			if p.handed == 0 {
				p.wait = st.wait
			}
			return p, nil
		}
		r.claimed(len(batch))
		ser, done, err := r.publishTotal(ctx, s, batch)
		if err != nil {
			return p, err
		}
		st = settlement{ended: ser.ended(done, len(batch))}
		p.published += done
		p.handed += done
		st.read = r.add(&p, st.ended) && m != once && ctx.Err() == nil
	}
}

// add counts what came of a batch, and reports whether another may follow at once.
func (r *Relay) add(p *pass, all []ended) (goOn bool) {
	goOn = true
	for _, x := range all {
		goOn = goOn && !r.holds(x.o)
		if x.o.verdict != untouched {
			p.handed++
		}
		if x.o.verdict == unavailable {
			p.unavailable, p.wait = x.o.err, x.o.wait
		}
	}
	return goOn
}

func (r *Relay) claimed(n int) {
	for _, h := range r.hooks.claimed {
		h.Claimed(n)
	}
}

// publishTotal hands the batch over, in order. done is how many events of it are settled already, by the flush that
// keeps what a crash would publish twice small while the publisher is slow.
func (r *Relay) publishTotal(ctx context.Context, s *session, batch []*event) (ser *series, done int, err error) {
	pubCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	ser = r.newSeries(pubCtx, &s.deadline, batch, true)
	ser.start(1, nil)
	r.supervise(ctx, s.gone, ser, cancel, func() {
		n := done
		for n < len(batch) {
			if o, ok := ser.outcome(n); !ok || o.verdict != published {
				break
			}
			n++
		}
		if n == done || n == len(batch) {
			return
		}
		keep, stop := r.detached(ctx, s)
		defer stop()
		st := settlement{ended: ser.ended(done, n), rest: batch[n:]}
		if err = s.settle(keep, &st); err == nil {
			r.tell(st.ended)
			done = n
		}
	})
	return ser, done, err
}

// ended is events from..to with their outcomes; what was not handed over is untouched.
func (s *series) ended(from, to int) []ended {
	all := make([]ended, 0, to-from)
	for i := from; i < to; i++ {
		o, _ := s.outcome(i)
		all = append(all, ended{s.events[i], o})
	}
	return all
}
