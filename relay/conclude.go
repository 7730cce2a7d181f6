package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/delivery"
)

// conclude notes and tells what came of a handler that is not done.
func (h *Handlers) conclude(ctx context.Context, e *event, m Message, n *need, got result, took time.Duration) error {
	now, err := h.judge(e, m, n, got.err)
	state := now.state
	if n.served && state == delivery.Failed { // it stays outstanding
		h.relay.hooks.tellHandler(state, n.shown, m, err, took)
		return err
	}
	was, noteErr := h.note(ctx, m.Seq, n.name, now)
	if was == delivery.Running { // it ended its transaction, and then did not succeed
		return h.conclude(ctx, e, m, n, result{err: Permanent(fmt.Errorf("%w; then: %w", errCommitted, plain(err)))}, took)
	}
	switch {
	case noteErr != nil && (state == delivery.Rejected || got.unknown):
		return Unavailable(fmt.Errorf("record what came of it (%v): %w", err, noteErr))
	case noteErr != nil:
		h.relay.log.Warn("what came of a handler could not be recorded", "handler", n.shown, "id", m.ID, "error", noteErr)
	case was == delivery.Done || was == delivery.Rejected: // a commit that was not heard of, or another process
		if got.unknown {
			h.relay.hooks.tellHandled(n.shown, m, took)
		}
		return nil
	}
	h.relay.hooks.tellHandler(state, n.shown, m, err, took)
	switch {
	case state == delivery.Rejected:
		return nil
	case state == delivery.Dead:
		return err
	case IsUnavailable(err):
		return &postponedError{err: err, wait: now.wait}
	}
	return &retryError{err, now.wait}
}

// judge tells what a handler's error means. One that is unavailable is not charged.
func (h *Handlers) judge(e *event, m Message, n *need, failure error) (now noted, err error) {
	now, err = noted{state: delivery.Failed, attempts: m.Attempt}, failure
	wait, asked := RetryAfterOf(err)
	switch {
	case IsRejected(err):
		now.state = delivery.Rejected
	case IsUnavailable(err):
		now.attempts--
		if now.wait = wait; !asked {
			now.wait = h.patience(e, cmp.Or(n.since, e.readAt))
		}
	case IsPermanent(err):
		now.state = delivery.Dead
	case n.own != nil && h.relay.spent(e, m.Attempt, h.limit(n.own)):
		now.state, err = delivery.Dead, Permanent(err)
	default:
		if now.wait = wait; !asked {
			now.wait = jitter(backoff(h.relay.opts.Backoff, h.relay.opts.BackoffMax, m.Attempt))
		}
	}
	now.text = errorText(err)
	return now, err
}

// plain is err without its marks, such as that it is a refusal.
func plain(err error) error { return errors.New(err.Error()) }
