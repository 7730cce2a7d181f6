package relay

import (
	"context"
	"time"
)

// flushEvery is how often outcomes are recorded while hand-overs are slow: at most this much of a publisher's work is
// done again after a crash.
const flushEvery = 500 * time.Millisecond

// quickest bounds for how long a turn is put off for calls that are expected to end at once.
const quickest = 5 * time.Millisecond

// always is closed from the beginning.
var always = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// await watches the hand until a turn is worth its while: when few events are left and more may be taken, when all
// have ended, when outcomes have waited long enough, or when there may be news in the outbox. What was left by the last turn
// has waited long enough.
func (x *roller) await(ctx context.Context) {
	if x.later && ctx.Err() == nil && !x.s.isLost() {
		x.src.keep(ctx, x.hand)
		return
	}
	low := 0
	var wake chan struct{}
	var poll <-chan time.Time
	if _, left := x.hand.state(); x.open && !x.alone && left <= x.fits {
		wake = x.r.wake
		timer := time.NewTimer(jitter(x.r.opts.Poll))
		defer timer.Stop()
		poll = timer.C
	}
	if x.open && !x.alone && x.more {
		low = x.fits
		x.awaitQuick()
	}
	flush := x.r.now().Mono + flushEvery
	x.watch(ctx, low, func(done int) bool { return done > 0 && x.r.now().Mono >= flush }, wake, poll)
}

// awaitQuick waits for calls that take much less than a turn: it is not worth its while to take turns beside them.
func (x *roller) awaitQuick() {
	moment := min(x.took/8, quickest)
	if !x.hand.soonOver(moment / 2) { // what takes longer is better made beside the turn
		return
	}
	x.hand.expect(0)
	timer := time.NewTimer(moment)
	defer timer.Stop()
	for {
		if _, left := x.hand.state(); left == 0 {
			return
		}
		select {
		case <-x.hand.news:
		case <-timer.C:
			return
		}
	}
}

// finish watches the hand until all has ended.
func (x *roller) finish(ctx context.Context) {
	x.watch(ctx, 0, func(int) bool { return false }, nil, nil)
}

// watch gives up on calls that do not return, and stops hand-overs when ctx ends or the session is lost.
func (x *roller) watch(ctx context.Context, low int, enough func(done int) bool, wake <-chan struct{}, poll <-chan time.Time) {
	r, h := x.r, x.hand
	stopping, gone := ctx.Done(), (<-chan struct{})(x.s.gone)
	shutdown := x.shutdown
	h.expect(low)
	for {
		var over <-chan struct{} // beside the others, so that none of them is kept waiting where each turn is worth its while at once
		if done, left := h.state(); left <= low || enough(done) {
			over = always
		}
		select {
		case <-over:
			return
		case <-h.news:
		case <-x.tick.C:
			h.giveUp(x.cutAt > 0 && r.now().Mono-x.cutAt >= r.grace())
			if r.opts.Order == OrderPerKey {
				h.shed(flushEvery)
			}
			x.src.keep(context.WithoutCancel(ctx), h)
		case <-wake:
			x.more = true
			return
		case <-poll:
			x.more = true
			return
		case <-gone:
			gone = nil
			h.stop(ErrLeaseLost)
		case <-stopping:
			stopping, low = nil, 0
			h.stop(nil)
			if x.shutdown == nil {
				x.shutdown = time.After(r.opts.ShutdownTimeout)
			}
			shutdown = x.shutdown
		case <-shutdown:
			shutdown, x.cutAt = nil, r.now().Mono
			h.cancel(errShutdown)
		}
	}
}

// detached is a context for bookkeeping: it outlives ctx, and ends when nothing can be recorded in time any more.
func (r *Relay) detached(ctx context.Context, s *session) (context.Context, context.CancelFunc) {
	limit := max(s.deadline.Left(), 2*time.Second)
	if owns, _ := s.owned(); !owns {
		limit = max(r.opts.Lease, limit) // claims have deadlines of their own, and late outcomes are refused
	}
	if ctx.Err() != nil {
		limit = min(limit, max(r.opts.ShutdownTimeout, 2*time.Second))
	}
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
