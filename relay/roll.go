package relay

import (
	"context"
	"errors"
	"time"
)

// turn is one transaction of a relay: it records what has ended and takes more in hand.
type turn struct {
	ended []ended
	room  int  // how many more may be taken; 0: none
	empty bool // nothing else is in hand

	batch  []*event      // taken
	buried []ended       // given up while taking: there is nothing to hand over
	more   bool          // another turn may find more at once
	alone  bool          // take nothing more before the hand is empty
	wait   time.Duration // nothing taken: until something is due
}

// source is where a relay takes events from and records what came of them.
type source interface {
	// turn commits one transaction, trying again until it is known what happened or ctx ends. ErrLeaseLost: nothing
	// was recorded, and nothing more can be.
	turn(ctx context.Context, t *turn) error
	// keep is called now and then while hand-overs are under way.
	keep(ctx context.Context, h *hand)
}

// pass is what a roll led to.
type pass struct {
	handed      int  // hand-overs, and events that were given up without one
	dry         bool // the last look found nothing to take
	published   int
	wait        time.Duration // until something is due; unavailable: as the publisher asked
	unavailable error
}

// roller takes turns for as long as there is anything to take. Hand-overs go on meanwhile: a turn settles one batch
// and takes the next while the one between is being handed over.
type roller struct {
	r     *Relay
	s     *session
	src   source
	mode  mode
	hand  *hand
	p     pass
	open  bool // more may be taken
	more  bool // another turn may find more at once
	alone bool // take nothing more before the hand is empty
	tick  *time.Ticker

	shutdown <-chan time.Time // once ctx has ended: when calls are cut off
	cut      bool             // they have been
}

// roll returns with nothing in hand: when a turn finds nothing to take, after one batch if that is the mode, when ctx
// ends, or when hand-overs had to stop.
func (r *Relay) roll(ctx context.Context, s *session, src source, workers int, m mode) (pass, error) {
	if err := s.probeSometimes(ctx); err != nil {
		return pass{}, err
	}
	x := &roller{r: r, s: s, src: src, mode: m, hand: r.newHand(ctx, workers), open: true, more: true}
	defer x.hand.cancel(nil)
	x.tick = time.NewTicker(max(min(flushEvery, r.grace()/2, r.opts.Lease/6), time.Millisecond))
	defer x.tick.Stop()
	err := x.run(ctx)
	return x.p, err
}

func (x *roller) run(ctx context.Context) error {
	for {
		t := x.next(ctx)
		keep, cancel := x.r.detached(ctx, x.s)
		err := x.src.turn(keep, t)
		cancel()
		if err != nil {
			x.hand.stop(nil)
			x.open = false
			x.finish(ctx) // what is under way can't be recorded any more, but it is not left alone
			if all, _, _ := x.hand.collect(); errors.Is(err, ErrLeaseLost) {
				x.r.refuse(countRecorded(all))
			}
			return err
		}
		x.account(t)
		x.hand.take(t.batch)
		if x.over(t) {
			return nil
		}
		x.await(ctx)
	}
}

// next is the turn to take now.
func (x *roller) next(ctx context.Context) *turn {
	all, left, halted := x.hand.collect()
	x.open = x.open && !halted && ctx.Err() == nil
	t := &turn{ended: all, empty: left == 0}
	if x.open && (left == 0 || x.more && !x.alone && left <= x.r.opts.Batch) {
		t.room = x.r.opts.Batch // so that two batches at most are in hand
	}
	return t
}

// account tells what was recorded and found.
func (x *roller) account(t *turn) {
	r := x.r
	for _, e := range t.ended {
		if e.o.verdict != untouched {
			x.p.handed++
		}
		if e.o.verdict == unavailable {
			x.p.unavailable, x.p.wait = e.o.err, max(x.p.wait, e.o.wait)
		}
	}
	x.p.handed += len(t.buried)
	x.p.published += r.tell(t.ended)
	r.tell(t.buried)
	if len(t.batch) > 0 {
		r.claimed(len(t.batch))
	}
	if t.room > 0 {
		x.more, x.alone = t.more, t.alone
	}
	x.open = x.open && x.mode != once
}

// over reports whether nothing is in hand and nothing more is to be taken.
func (x *roller) over(t *turn) bool {
	if done, left := x.hand.state(); done+left > 0 || x.open && (t.room == 0 || t.more) {
		return false
	}
	x.p.dry = t.room > 0
	if x.p.unavailable == nil {
		x.p.wait = t.wait
	}
	return true
}
