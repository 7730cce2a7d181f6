package relay

import (
	"context"
	"time"
)

// idleWait grows the waits between looks that find nothing, from Poll to PollMax, and separately those after errors.
type idleWait struct {
	wait  time.Duration
	fails int
	busy  int // waits for what others have in hand
}

func (w *idleWait) reset() { *w = idleWait{} }

func (w *idleWait) next(o Options) time.Duration {
	w.fails, w.busy = 0, 0
	if w.wait == 0 {
		w.wait = o.Poll
	} else {
		w.wait = min(w.wait+w.wait/2, o.PollMax)
	}
	return jitter(w.wait)
}

// afterError is the wait after a statement that failed: from 50 ms, doubling to 5 s.
func (w *idleWait) afterError() time.Duration {
	w.fails++
	return jitter(backoff(50*time.Millisecond, 5*time.Second, w.fails))
}

// whileOthersWork is the wait for what is in another relay's hands: from 10 ms, doubling to Poll.
func (w *idleWait) whileOthersWork(o Options) time.Duration {
	w.busy++
	return jitter(backoff(10*time.Millisecond, max(o.Poll, 10*time.Millisecond), w.busy))
}

// waitFor waits for d, or until ctx or the session ends; a Wake cuts it short if byWake is set. It answers whether it
// was woken.
func (r *Relay) waitFor(ctx context.Context, s *session, d time.Duration, byWake bool) bool {
	wake := r.wake
	if !byWake {
		wake = nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-s.gone:
	case <-timer.C:
	case <-wake:
		return true
	}
	return false
}

// awaitWork waits until a look may find something: one cheap statement per idle wait. headWait is how long the head
// has to wait, if that is why nothing was handed over.
func (r *Relay) awaitWork(ctx context.Context, s *session, idle *idleWait, headWait time.Duration) error {
	if headWait <= 0 { // due, but in another relay's hands for the moment: that is not the same as nothing to do
		r.waitFor(ctx, s, idle.whileOthersWork(r.opts), true)
		return nil
	}
	for ctx.Err() == nil && !s.isLost() {
		wait := headWait
		if headWait == never { // where something is held back, only a full look tells
			signs, err := s.look(ctx)
			if err != nil {
				return err
			}
			if signs.pending <= 0 {
				return nil
			}
			if wait = min(signs.pending, signs.scheduled); wait <= 0 {
				r.waitFor(ctx, s, idle.whileOthersWork(r.opts), true)
				return nil
			}
		}
		if woken := r.waitFor(ctx, s, min(idle.next(r.opts), max(wait, time.Millisecond)), true); woken || headWait != never {
			return nil
		}
	}
	return nil
}
