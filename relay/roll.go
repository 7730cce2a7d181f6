package relay

import (
	"context"
	"errors"
	"time"
)

// turn is one transaction of a relay: it records what has ended and takes more in hand.
type turn struct {
	ended []ended
	room  int             // how many more may be taken; 0: none
	empty bool            // nothing else is in hand
	slow  map[string]bool // scopes with a call that takes long: nothing more of them is to be taken

	batch  []*event      // taken
	freed  []int64       // partitions that were given back
	buried []ended       // given up while taking: there is nothing to hand over
	more   bool          // another turn may find more at once
	alone  bool          // take nothing more before the hand is empty
	cut    int           // so many were enough by their bytes; 0: all that there was room for was read
	tail   tail          // that it leaves in the ordered relays
	looked time.Duration // when it has looked from the beginning, by r.now().Mono
	due    dueTail       // that it leaves in OrderNone
	wait   time.Duration // nothing taken: until something is due
}

// fewAlone is how many are read while events go alone: one is taken.
const fewAlone = 4

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
	r      *Relay
	s      *session
	src    source
	mode   mode
	hand   *hand
	p      pass
	fits   int   // so many events are a batch, by their number and their bytes
	twice  bool  // and as many again would fit
	open   bool  // more may be taken
	more   bool  // another turn may find more at once
	alone  bool  // take nothing more before the hand is empty
	later  bool  // something that has ended was left for the next turn
	failed error // a look did, and so no more is taken
	tick   *time.Ticker

	shutdown <-chan time.Time // once ctx has ended: when calls are cut off
	cutAt    time.Duration    // when they were, by r.now().Mono; 0: they have not been
	took     time.Duration    // the last turn
}

// roll returns with nothing in hand: when a turn finds nothing to take, after one batch if that is the mode, when ctx
// ends, or when hand-overs had to stop.
func (r *Relay) roll(ctx context.Context, s *session, src source, m mode) (pass, error) {
	if err := s.lookSometimes(ctx); err != nil {
		return pass{}, err
	}
	x := &roller{r: r, s: s, src: src, mode: m, hand: r.newHand(ctx), fits: r.opts.Batch, open: true, more: true}
	defer x.hand.cancel(nil)
	x.tick = time.NewTicker(max(min(flushEvery, r.grace()/2, r.opts.Lease/6), time.Millisecond))
	defer x.tick.Stop()
	err := x.run(ctx)
	if err == nil {
		err = x.failed
	}
	if err == nil && x.hand.isStuck() {
		err = errPublisherStuck
	}
	return x.p, err
}

func (x *roller) run(ctx context.Context) error {
	for {
		if err := x.s.lookSometimes(ctx); err != nil && ctx.Err() == nil { // what goes on for long must not miss what becomes due meanwhile
			x.r.log.Warn("look for work failed", "error", err)
			if x.open && x.mode != forever { // it would end as if nothing were due
				x.open, x.failed = false, err
			}
		}
		t := x.next(ctx)
		keep, cancel := x.r.detached(ctx, x.s)
		start := x.r.now().Mono
		err := x.src.turn(keep, t)
		cancel()
		x.took = x.r.now().Mono - start
		x.r.settled(t, x.took, err)
		if err != nil {
			x.hand.stop(nil)
			x.open = false
			x.finish(ctx) // what is under way can't be recorded any more, but it is not left alone
			all, _, _ := x.hand.collect()
			if errors.Is(err, ErrLeaseLost) {
				x.r.refuse(countRecorded(all))
			} else {
				x.r.refuse(countLate(all))
			}
			return err
		}
		x.account(t)
		x.hand.settled(t.ended)
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
	all, later := x.r.portion(all)
	x.hand.putOff(later)
	left, x.later = left+len(later), len(later) > 0
	x.open = x.open && !halted && ctx.Err() == nil
	t := &turn{ended: all, empty: left == 0, slow: x.hand.slowOnes()}
	if x.open && (left == 0 || x.more && !x.alone && left <= x.fits) {
		// So that two batches are in hand, both at once where calls end before turns do. Beside mountains more are taken.
		t.room = x.fits
		if left == 0 && len(all) >= x.fits && x.twice {
			t.room = min(2*x.fits, maxBatch)
		}
		if x.alone {
			t.room = min(t.room, fewAlone)
		}
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
	r.counts.drained.Add(int64(countRecorded(t.ended) + len(t.buried)))
	n := r.tell(t.ended)
	x.p.published += n
	if n > 0 && r.feeds() {
		r.o.WakeFollowers()
	}
	r.tell(t.buried)
	if len(t.batch) > 0 {
		r.claimed(len(t.batch))
	}
	if t.room > 0 {
		x.more, x.alone = t.more, t.alone
		x.fit(t)
	}
	x.open = x.open && x.mode != once
}

// fit judges by a turn how many events the next batch may have: what does not fit by its bytes would be sent by the database and
// not be looked at.
func (x *roller) fit(t *turn) {
	bytes := 0
	for _, e := range t.batch {
		bytes += e.size()
	}
	switch {
	case t.cut > 0:
		x.fits = min(t.cut, x.r.opts.Batch)
	case len(t.batch) >= x.fits && bytes <= maxBatchBytes/2:
		x.fits = min(2*x.fits, x.r.opts.Batch)
	}
	if len(t.batch) > 0 || t.cut > 0 {
		x.twice = t.cut == 0 && 2*x.fits*bytes <= len(t.batch)*maxBatchBytes/2
	}
}

// over reports whether nothing is in hand and nothing more is to be taken.
func (x *roller) over(t *turn) bool {
	if done, left := x.hand.state(); done+left > 0 || x.open && (t.room == 0 || t.more) {
		return false
	}
	if x.open && x.s.leftBehind() {
		return false
	}
	x.p.dry = t.room > 0
	if x.p.unavailable == nil {
		x.p.wait = t.wait
	}
	return true
}
