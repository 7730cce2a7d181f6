package relay

import (
	"context"
	"errors"
	"fmt"
	"time"
)

type verdict int

const (
	untouched   verdict = iota // not handed over, or cut off by this process's own end, or to be read again: nothing to record
	published                  // safe at the destination
	failed                     // to be tried again
	dead                       // given up
	unavailable                // the destination is down: nobody is charged
	postponed                  // the event must wait, uncharged
)

// outcome is what came of one hand-over.
type outcome struct {
	verdict verdict
	err     error
	wait    time.Duration // failed, unavailable, postponed: until the next try
	took    time.Duration
}

// recorded is 1 for an outcome that changes the event's row for good, and 0 otherwise.
func (o outcome) recorded() int64 {
	switch o.verdict {
	case published, failed, dead:
		return 1
	}
	return 0
}

// errShutdown is the cause of a hand-over's context once ShutdownTimeout has passed.
var errShutdown = errors.New("the relay is shutting down")

// judge turns the publisher's answer into an outcome. An error whose own methods panic, such as a typed nil, is a
// failure like any other.
func (r *Relay) judge(ctx context.Context, e *event, err error, took time.Duration) (out outcome) {
	defer func() {
		if p := recover(); p != nil {
			out = r.judge(ctx, e, fmt.Errorf("the publisher's error (%T) can't be read: %v", err, p), took)
		}
	}()
	if err == nil {
		return outcome{verdict: published, took: took}
	}
	out = outcome{err: err, took: took}
	var later *postponedError
	var retry *retryError
	switch {
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		out.verdict = untouched // it was the relay that cut it off, not the event's doing; net/http answers the cause
	case errors.Is(err, errOvertakes):
		out.verdict = untouched
	case errors.As(err, &later) && r.opts.Order == OrderTotal: // nothing may overtake it
		out.verdict, out.wait = unavailable, later.wait
		if later.elsewhere { // another process may be through with it long before
			out.wait = min(later.wait, jitter(r.opts.Poll))
		}
	case errors.As(err, &later):
		out.verdict, out.wait = postponed, later.wait
	case IsUnavailable(err):
		out.verdict = unavailable
		out.wait, _ = RetryAfterOf(err)
	case IsPermanent(err), IsRejected(err), r.usedUp(e):
		out.verdict = dead
	default:
		out.verdict = failed
		wait, ok := RetryAfterOf(err)
		if errors.As(err, &retry) {
			wait = retry.wait
		} else if !ok {
			wait = jitter(backoff(r.opts.Backoff, r.opts.BackoffMax, e.msg.Attempt))
		}
		out.wait = wait
	}
	return out
}

// cutShort is the outcome of a call that the relay ended by itself and that has not returned since. It is not the event's doing. In the
// ordered relays the lease keeps others off, and here the claim must.
func (r *Relay) cutShort(took time.Duration) outcome {
	if r.opts.Order != OrderNone {
		return outcome{}
	}
	return outcome{verdict: postponed, err: ErrStuck, wait: r.opts.Lease, took: took}
}

// usedUp reports whether a failure of this attempt is the last: the attempts are used up and the first failure is old
// enough, by the database's clock carried forward by ours. Handlers have attempts of their own.
func (r *Relay) usedUp(e *event) bool { return r.handlers == nil && r.spent(e, e.msg.Attempt, r.limit) }

// spent is usedUp for a number of attempts, of so many that there are.
func (r *Relay) spent(e *event, attempts, limit int) bool {
	if attempts < limit {
		return false
	}
	if r.opts.DeadLetterAfter == 0 {
		return true
	}
	if e.firstFailed == 0 {
		return false
	}
	age := time.Duration(e.readAt-e.firstFailed)*time.Millisecond + r.now().Mono - e.read.Mono
	return age >= r.opts.DeadLetterAfter
}

// holds reports whether an outcome keeps what is behind it in its chain waiting.
func (r *Relay) holds(o outcome) bool {
	switch o.verdict {
	case published:
		return false
	case dead:
		return r.opts.OnDead == HoldKey
	}
	return true
}
