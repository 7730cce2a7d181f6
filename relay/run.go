package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// Run hands events on until ctx ends. Then it finishes the hand-over under way, records it, hands the lease over at
// once, and returns nil; ErrStuck if the publisher did not return in time (the lease then ends by itself).
//
// It returns an error at once if the database will never do: of the wrong kind, too old, read-only, without the
// schema. A database that is away, at the start or later, is waited for; nothing is lost meanwhile.
func (r *Relay) Run(ctx context.Context) error {
	if !r.running.TryLock() {
		return fmt.Errorf("run relay: %w", ErrRunning)
	}
	defer r.running.Unlock()
	defer r.o.Attach(r)()
	if err := r.awaitDatabase(ctx); err != nil {
		return fmt.Errorf("run relay: %w", err)
	}
	purging := r.startPurge(ctx)
	defer purging()
	_, err := r.work(ctx, forever)
	if err != nil {
		return fmt.Errorf("run relay: %w", err)
	}
	return nil
}

// RunOnce makes one pass, over one batch at most, and answers how many events were published. Where another relay owns
// the lease there is nothing for this one to do: 0 and no error.
func (r *Relay) RunOnce(ctx context.Context) (int, error) {
	if !r.running.TryLock() {
		return 0, fmt.Errorf("run once: %w", ErrRunning)
	}
	defer r.running.Unlock()
	n, err := r.work(ctx, once)
	if err != nil {
		return n, fmt.Errorf("run once: %w", err)
	}
	return n, nil
}

// Drain makes passes until nothing is due and answers how many events this relay published. Events that wait for their
// next try, are put off by Delay, or are held by a dead letter are not due. If another relay owns the lease, Drain
// waits while that one works. An unavailable destination ends it with the publisher's error.
func (r *Relay) Drain(ctx context.Context) (int, error) {
	if !r.running.TryLock() {
		return 0, fmt.Errorf("drain: %w", ErrRunning)
	}
	defer r.running.Unlock()
	n, err := r.work(ctx, dry)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return n, fmt.Errorf("drain: %w", err)
	}
	return n, nil
}

// work runs session after session until the mode says that it is over.
func (r *Relay) work(ctx context.Context, m mode) (int, error) {
	sum := 0
	var idle idleWait
	for {
		n, over, err := r.oneSession(ctx, m)
		sum += n
		switch {
		case errors.Is(err, ErrStuck):
			if ctx.Err() != nil || m != forever {
				return sum, err
			}
			select { // what is stuck must not be handed out again here
			case <-r.stuckEnd():
			case <-ctx.Done():
				return sum, err
			}
		case ctx.Err() != nil:
			return sum, nilUnless(m != forever, ctx.Err())
		case err != nil && m != forever && !errors.Is(err, ErrLeaseLost):
			return sum, err
		case err != nil:
			r.log.Warn("session ended", "error", err)
			sleep(ctx, idle.afterError())
		case over:
			return sum, nil
		default:
			idle.reset()
		}
	}
}

func (r *Relay) stuckEnd() <-chan struct{} {
	if free := r.stuck.any(); free != nil {
		return free
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// oneSession registers, works, and leaves everything tidy.
func (r *Relay) oneSession(ctx context.Context, m mode) (n int, over bool, err error) {
	s, err := r.register(ctx)
	if err != nil {
		return 0, false, err
	}
	defer func() {
		keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.bookkeeping())
		defer cancel()
		if errors.Is(err, ErrStuck) {
			s.close(keep, true) // never free a lease under a running hand-over: it ends by itself
			return
		}
		s.release(keep)
	}()
	if r.opts.Order == OrderNone {
		n, err = r.none(ctx, s, m)
		return n, true, err
	}
	for ctx.Err() == nil {
		if r.stuck.any() != nil {
			return n, false, errPublisherStuck // what is stuck here must not be handed out here again
		}
		left, err := s.acquire(ctx)
		switch {
		case txn.IsUnknown(err):
			s.mayOwn = true // a further try tells, and takes what is ours already
			r.pause(ctx, s, jitter(20*time.Millisecond), false)
			continue
		case err != nil:
			return n, false, err
		case s.ownedToken() != 0:
			k, err := r.total(ctx, s, m)
			return n + k, err == nil, err
		case m == once:
			return n, true, nil
		case m == dry:
			if idle, err := s.nothingDue(ctx); err != nil || idle {
				return n, err == nil, err
			}
		}
		if s.isLost() {
			return n, false, ErrLeaseLost
		}
		r.standBy(ctx, s, left)
	}
	return n, true, nil
}

// standBy waits as a follower: until the owner's lease would end, but looking now and then whether it was given back.
func (r *Relay) standBy(ctx context.Context, s *session, left time.Duration) {
	r.pause(ctx, s, min(left+time.Millisecond, jitter(r.opts.PollMax)), false)
}

// nothingDue asks for the events that the owner has still to hand on.
func (s *session) nothingDue(ctx context.Context) (bool, error) {
	signs, err := s.probeNow(ctx)
	return signs.pending > 0, err
}

// awaitDatabase makes the start-up checks, waiting for a database that is away.
func (r *Relay) awaitDatabase(ctx context.Context) error {
	var idle idleWait
	for {
		check, cancel := r.bounded(ctx)
		err := r.own.Check(check)
		away := check.Err() != nil
		cancel()
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if c := r.d.Classify(err); !away && (!c.Retryable() || isReadOnly(c)) {
			return err
		}
		r.log.Warn("the database is away", "error", err)
		sleep(ctx, idle.afterError())
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
