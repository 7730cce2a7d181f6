package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// passTotal looks from the beginning of what is pending, and goes on batch by batch, reading ahead, for as long as
// nothing stops it: each batch costs one SELECT and one commit, which settles it and notes the next in hand.
func (r *Relay) passTotal(ctx context.Context, s *session, m mode) (pass, error) {
	var p pass
	if err := s.probeSometimes(ctx); err != nil {
		return p, err
	}
	batch, wait, err := r.readTotal(ctx, 0)
	if err != nil {
		return p, err
	}
	s.prune(batch)
	batch = s.choose(batch)
	if len(batch) == 0 {
		p.wait = wait
		return p, nil
	}
	keep, cancel := r.detached(ctx, s)
	defer cancel()
	if _, err := s.settle(keep, settlement{hand: s.handOf(batch)}); err != nil {
		return p, err
	}
	for len(batch) > 0 {
		r.claimed(len(batch))
		ahead := r.readAhead(ctx, s, m, batch)
		ser, done, err := r.publishTotal(ctx, s, batch)
		next := <-ahead
		if err != nil {
			return p, err
		}
		batch, err = r.settleTotal(ctx, s, ser, done, next, &p)
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

func (r *Relay) claimed(n int) {
	for _, h := range r.hooks.claimed {
		h.Claimed(n)
	}
}

// readAhead reads what follows batch while it is being published, if the next batch may follow it at once.
func (r *Relay) readAhead(ctx context.Context, s *session, m mode, batch []*event) <-chan []*event {
	out := make(chan []*event, 1)
	if m == once || len(batch) < r.opts.Batch || !s.hand.ordinary() {
		out <- nil
		return out
	}
	go func() {
		next, _, err := r.readTotal(ctx, batch[len(batch)-1].msg.Seq)
		if err != nil && ctx.Err() == nil {
			r.log.Warn("read ahead failed", "error", err) // the next pass reads again
		}
		out <- cutBroken(next)
	}()
	return out
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
		all := ser.ended(done, n)
		if _, err = s.settle(keep, settlement{ended: all, hand: s.handOf(batch[n:])}); err == nil {
			r.tell(all)
			done = n
		}
	})
	return ser, done, err
}

// settleTotal records what came of the rest of a series and notes next as in hand, if it may follow at once.
func (r *Relay) settleTotal(ctx context.Context, s *session, ser *series, done int, next []*event, p *pass) ([]*event, error) {
	p.published += done
	p.handed += done
	all := ser.ended(done, len(ser.events))
	stop := ctx.Err() != nil
	for _, x := range all {
		stop = stop || x.o.verdict != published
		if x.o.verdict != untouched {
			p.handed++
		}
		if x.o.verdict == unavailable {
			p.unavailable, p.wait = x.o.err, x.o.wait
		}
	}
	s.clear(all)
	st := settlement{ended: all, hand: s.handOf(nil)}
	if !stop && len(next) > 0 {
		st.next, st.hand = next, s.handOf(next)
	}
	keep, cancel := r.detached(ctx, s)
	defer cancel()
	ok, err := s.settle(keep, st)
	if err != nil {
		return nil, err
	}
	p.published += r.tell(all)
	if r.stuck.any() != nil {
		return nil, errPublisherStuck
	}
	if ser.expired.Load() {
		return nil, ErrLeaseLost
	}
	if !ok {
		return nil, nil
	}
	return next, nil
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

// ordinary: nothing is to be handed over by itself.
func (h inHand) ordinary() bool { return h.Alone == 0 && len(h.Suspects) == 0 }

// choose cuts a batch so that suspects and rows that can't be read go alone.
func (s *session) choose(batch []*event) []*event {
	batch = cutBroken(batch)
	for i, e := range batch {
		if s.alone(e) {
			return batch[:max(i, 1)]
		}
	}
	return batch
}

// alone: with one attempt only, the first crash must name its culprit, so every event goes by itself.
func (s *session) alone(e *event) bool {
	return s.r.opts.MaxAttempts == 1 || slices.Contains(s.hand.Suspects, e.msg.Seq)
}

// cutBroken cuts before the first row that can't be read, or to that row alone if it is at the head.
func cutBroken(batch []*event) []*event {
	for i, e := range batch {
		if e.broken != nil {
			return batch[:max(i, 1)]
		}
	}
	return batch
}

// handOf is the note for a batch that is about to be handed over.
func (s *session) handOf(batch []*event) inHand {
	h := inHand{Suspects: s.hand.Suspects, Prior: s.hand.Prior}
	if len(batch) == 1 && s.alone(batch[0]) {
		h.Alone = batch[0].msg.Seq
		h.Suspects = without(h.Suspects, h.Alone)
		return h
	}
	for _, e := range batch {
		h.Batch = append(h.Batch, e.msg.Seq)
	}
	return h
}

// clear takes what has an outcome off the list of suspects: it did not end the process.
func (s *session) clear(all []ended) {
	if s.hand.Alone != 0 && len(all) == 1 && all[0].o.verdict == untouched {
		s.hand.Suspects = append(seqList{s.hand.Alone}, s.hand.Suspects...) // it did not get its turn
	}
	for _, x := range all {
		if x.o.verdict != untouched {
			s.hand.Suspects = without(s.hand.Suspects, x.e.msg.Seq)
		}
	}
	if len(s.hand.Suspects) == 0 {
		s.hand.Prior = false
	}
}

// prune drops suspects that are not pending any more, which a look from the beginning shows.
func (s *session) prune(batch []*event) {
	if len(s.hand.Suspects) == 0 || len(batch) == 0 {
		return
	}
	first := batch[0].msg.Seq
	s.hand.Suspects = slices.DeleteFunc(slices.Clone(s.hand.Suspects), func(seq int64) bool { return seq < first })
}

func without(l seqList, seq int64) seqList {
	return slices.DeleteFunc(slices.Clone(l), func(x int64) bool { return x == seq })
}
