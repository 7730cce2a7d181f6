package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// Run hands events on until ctx ends. Then it finishes the hand-over under way, records it, hands the lease over at
// once, and returns nil.
//
// It is how a service runs a relay. Only Run makes the start-up check (Outbox.Check), is woken by InTx and Outbox.Wake,
// runs what other releases have left to its Handlers, and, each PurgeEvery, deletes what Retention and DeadRetention no longer
// keep. A database that is away, at the start or
// later, is waited for; nothing is lost meanwhile.
//
// Errors:
//   - ErrRunning: Run, RunOnce or Drain is under way.
//   - What the start-up check says, at once, if the database will never do: of the wrong kind, too old, read-only, without
//     the schema (outbox.ErrSchema), its numbering behind (outbox.ErrSequenceBehind).
//   - ErrOrder: a relay of another order works. Its next sign of life tells, up to a third of its Lease away. One that was
//     killed gives none: it is waited for until its Lease is over, and is no error.
//   - ErrTopicPaused: a single topic is paused, in OrderTotal.
//   - ErrHandlerRetired, ErrHandlerRenamed: one of its Handlers has a name, or a topic, that it can't have.
//   - ErrFeed: the outbox has a feed, and this relay would publish past it.
//   - ErrStuck: ctx has ended, and the publisher did not return in time. What the relay owns becomes free when its Lease
//     is over. What else went wrong is wrapped beside it.
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
	defer r.startServing(ctx)()
	_, err := r.work(ctx, forever)
	if err != nil {
		return fmt.Errorf("run relay: %w", err)
	}
	return nil
}

// RunOnce makes one pass, over one batch at most, and answers how many events were published. Where another relay owns
// the lease there is nothing for this one to do: 0 and no error. It registers and gives back what it took, and does
// nothing else that Run does: no start-up check, no waking, no purge, nothing of what other releases have left to Handlers.
//
// Errors: ErrRunning, ErrOrder (after as long as in Run), ErrTopicPaused, ErrFeed, ErrHandlerRetired, ErrHandlerRenamed,
// ErrStuck if the publisher did not return in time, that of ctx, or what the database says: one that is away is not waited for.
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
// waits while that one works. It is for tests, scripts and the end of a batch job, and no way to run a service: like
// RunOnce it makes no start-up check, is not woken, does not purge, and runs nothing of what other releases have left to
// Handlers.
//
// Errors: those of RunOnce, and the publisher's own if it says that the destination is unavailable (one handler's is no error).
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

// endsRun reports whether an error is one that waiting does not mend.
func endsRun(err error) bool {
	return slices.ContainsFunc([]error{ErrOrder, ErrTopicPaused, ErrFeed, ErrHandlerRetired, ErrHandlerRenamed}, func(final error) bool {
		return errors.Is(err, final)
	})
}

// work runs session after session until the mode says that it is over.
func (r *Relay) work(ctx context.Context, m mode) (int, error) {
	sum := 0
	var idle idleWait
	for {
		if m == forever {
			r.stuck.await(ctx, r.places()) // a session needs a free place
			if ctx.Err() != nil {
				return sum, r.besideStuck(nil)
			}
		}
		n, over, err := r.oneSession(ctx, m)
		sum += n
		switch {
		case errors.Is(err, ErrStuck):
			if ctx.Err() != nil || m != forever {
				return sum, err
			}
			r.log.Warn("session ended", "error", err)
		case ctx.Err() != nil:
			return sum, r.besideStuck(nilUnless(m != forever, ctx.Err()))
		case endsRun(err), err != nil && m != forever && !errors.Is(err, ErrLeaseLost):
			return sum, err
		case err != nil:
			r.log.Warn("session ended", "error", err)
			clocks.Sleep(ctx, idle.afterError())
		case over:
			return sum, nil
		default:
			idle.reset()
		}
	}
}

// oneSession registers, works, and leaves everything tidy.
func (r *Relay) oneSession(ctx context.Context, m mode) (n int, over bool, err error) {
	if r.handlers != nil {
		if err := r.handlers.Announce(ctx); err != nil {
			return 0, false, err
		}
	}
	s, err := r.register(ctx)
	if err != nil {
		return 0, false, err
	}
	defer func() {
		keep, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.bookkeeping())
		defer cancel()
		if r.stuck.any() {
			s.abandon() // never free a lease under a running hand-over
			return
		}
		s.release(keep)
	}()
	switch r.opts.Order {
	case OrderNone:
		n, err = r.none(ctx, s, m)
		return n, true, err
	case OrderPerKey:
		n, err = r.perKey(ctx, s, m)
		return n, true, err
	}
	return r.oneOwner(ctx, s, m)
}

// oneOwner stands by until the lease is the session's, and works for as long as it is.
func (r *Relay) oneOwner(ctx context.Context, s *session, m mode) (n int, over bool, err error) {
	for ctx.Err() == nil {
		if r.stuck.any() {
			return n, false, errPublisherStuck // what is stuck here must not be handed out here again
		}
		left, err := s.acquire(ctx)
		owns, _ := s.owned()
		switch {
		case txn.IsUnknown(err):
			s.mayOwn = true // a further try tells, and takes what is ours already
			r.waitFor(ctx, s, jitter(20*time.Millisecond), false)
			continue
		case err != nil:
			return n, false, err
		case owns:
			n, err = r.total(ctx, s, m)
			return n, err == nil, err
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

func nilUnless(cond bool, err error) error {
	if cond {
		return err
	}
	return nil
}
