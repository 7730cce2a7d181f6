package relay

import (
	"context"
	"time"
)

// flushEvery is how often outcomes are recorded while a slow batch is still being handed over: at most this much time
// of a publisher's work is done again after a crash.
const flushEvery = 500 * time.Millisecond

// supervise waits until a series is over. It calls tick now and then, stops the series when ctx ends or the ownership
// is gone, and gives up on calls that do not return.
func (r *Relay) supervise(ctx context.Context, gone <-chan struct{}, s *series, cancel context.CancelCauseFunc, tick func()) {
	ticker := time.NewTicker(max(min(flushEvery, r.grace()/2, r.opts.Lease/6), time.Millisecond))
	defer ticker.Stop()
	limit := r.opts.PublishTimeout + r.grace()
	stopping := ctx.Done()
	var shutdown <-chan time.Time
	for {
		select {
		case <-s.done:
			return
		case <-ticker.C:
			s.giveUp(limit)
			tick()
		case <-gone:
			gone = nil
			s.stop.Store(true)
			cancel(ErrLeaseLost)
		case <-stopping:
			stopping = nil
			s.stop.Store(true)
			shutdown = time.After(r.opts.ShutdownTimeout)
		case <-shutdown:
			shutdown = nil
			cancel(errShutdown)
			limit = min(limit, r.grace()) // it has been running for ShutdownTimeout already
		}
	}
}

// detached is a context for bookkeeping: it outlives ctx, and ends when nothing can be recorded in time any more.
func (r *Relay) detached(ctx context.Context, s *session) (context.Context, context.CancelFunc) {
	limit := max(s.deadline.left(), 2*time.Second)
	if ctx.Err() != nil {
		limit = min(limit, max(r.opts.ShutdownTimeout, 2*time.Second))
	}
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
