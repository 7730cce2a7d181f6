package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/fanout"
)

var (
	// errOvertakes leaves an event as it is, to be read again behind the one before it.
	errOvertakes = errors.New("a handler has come that the event before it in its order may not have had")

	errNotDue = errors.New("its next try is not due yet")
	errServed = errors.New("it was left for another process, and is run by one that serves")

	errNoRelay = errors.New("the handlers have no relay: give them to relay.New themselves")
)

// Publish runs the handlers that the event has and that are not done. It is called by the relay.
func (h *Handlers) Publish(ctx context.Context, m Message) error {
	return h.handle(ctx, &event{msg: m})
}

func (h *Handlers) handle(ctx context.Context, e *event) error {
	if h.relay == nil {
		return errNoRelay
	}
	if hops := hopsOf(e.msg); hops > h.opts.MaxHops {
		return Permanent(fmt.Errorf("%w: %d, at most %d are allowed", ErrTooManyHops, hops, h.opts.MaxHops))
	}
	look, cancel := h.relay.bounded(ctx)
	defer cancel()
	all, err := h.needs(look, e)
	if err != nil {
		return Unavailable(fmt.Errorf("look up the event's handlers: %w", err))
	}
	if e.hand != nil && e.hand.overtakes(e) {
		return errOvertakes
	}
	if len(all) == 0 && h.opts.RequireHandler && !fanout.Own(e.msg.Topic) {
		return &postponedError{err: fmt.Errorf("%w: %q", ErrNoHandler, e.msg.Topic), wait: h.patience(e, e.msg.CreatedAt.UnixMilli())}
	}
	watched := h.relay.single || e.by != "" // a crash must name its culprit
	v := verdicts{wait: -1}
	for i := range all {
		if n := &all[i]; n.own == nil && n.open() {
			v.foreign = append(v.foreign, n)
		} else {
			v.add(n.shown, h.one(ctx, e, n, watched))
		}
	}
	if len(v.foreign) > 0 {
		v.add(v.foreign[0].shown, h.leaveToOthers(ctx, e, v.foreign))
	}
	return v.error()
}

// one does what there is to do for one handler.
func (h *Handlers) one(ctx context.Context, e *event, n *need, watched bool) error {
	switch {
	case n.done():
		return nil
	case n.state == delivery.Dead:
		return Permanent(errors.New(strings.TrimPrefix(n.lastError, permanentPrefix)))
	case n.state == delivery.Running:
		return h.conclude(ctx, e, n.message(e), n, result{err: Permanent(errCommitted)}, 0)
	case ctx.Err() != nil: // the event was given up, or is no longer ours: others may have run this one since the needs were read
		return context.Cause(ctx)
	case n.waits():
		return h.notDue(e, n)
	case n.state == delivery.Outstanding && (h.serving.Load() || n.claim != 0):
		return h.left(e, n) // what lapsed is judged by those that serve
	case n.state == delivery.Outstanding:
		if taken, err := h.takeBack(ctx, e, n); err != nil || !taken {
			return err
		}
	}
	return h.deliver(ctx, e, n, watched).err
}

// notDue is why a handler is not called yet.
func (h *Handlers) notDue(e *event, n *need) error {
	wait := time.Duration(n.due) * time.Millisecond
	if n.state == delivery.Failed {
		return &postponedError{err: errNotDue, wait: wait}
	}
	later := h.left(e, n)
	later.wait = min(later.wait, wait)
	return later
}

// left is why a handler is not called here: what is outstanding is run by those that serve, in this process or another.
func (h *Handlers) left(e *event, n *need) *postponedError {
	return &postponedError{err: errServed, wait: h.patience(e, n.since), elsewhere: true}
}

// patience is how long an event waits that nothing here can be done about: the longer, the longer it has waited.
func (h *Handlers) patience(e *event, since int64) time.Duration {
	shortest := h.relay.opts.PollMax
	waited := time.Duration(e.readAt-since) * time.Millisecond
	return jitter(max(shortest, min(waited/4, time.Minute)))
}

// deliver runs one handler when calls beside it let it in. One that another process has left has its place by then.
func (h *Handlers) deliver(ctx context.Context, e *event, n *need, watched bool) result {
	if !h.running.begin(e.msg.Seq, n.name) {
		return result{err: &postponedError{err: errServed, wait: jitter(h.relay.opts.Poll), elsewhere: true}}
	}
	defer h.running.end(e.msg.Seq, n.name)
	if n.crashed() && h.relay.spent(e, n.attempts, h.limit(n.own)) { // it was the last
		m := e.msg
		m.Attempt = n.attempts
		return result{err: h.conclude(ctx, e, m, n, result{err: Permanent(errCrashed)}, 0)}
	}
	if !n.served {
		e.began.Store(int64(h.relay.now().Mono))
		waiting, stop := context.WithTimeout(ctx, h.relay.opts.PublishTimeout)
		defer stop()
		p, err := h.enter(waiting, n.own, e, watched)
		if err != nil {
			return result{err: err}
		}
		defer p.leave()
		defer h.onStuck(e, func(took time.Duration) {
			p.gate()
			_, _ = h.chargeHang(ctx, e, took) // the hand-over's outcome is hangError
		})()
	}
	return h.call(ctx, e, n, watched)
}

// call runs one handler, and notes and tells what came of it. A refusal is no error.
func (h *Handlers) call(ctx context.Context, e *event, n *need, watched bool) result {
	m := n.message(e)
	m.Payload, m.Headers = bytes.Clone(m.Payload), maps.Clone(m.Headers)
	if watched {
		h.notes(e)
		if over, err := h.watch(ctx, e, m, n); over {
			return result{err: err}
		}
	}
	from := h.relay.now()
	got := h.run(ctx, e, m, n)
	took := h.relay.now().Mono - from.Mono
	switch {
	case got.err == nil:
		if got.ran {
			h.relay.hooks.tellHandled(n.shown, m, took)
		}
	case got.late != nil && !IsPermanent(got.err) && !IsRejected(got.err): // what it answers comes to nothing
		got.err = h.charge(e, got.late)
	case !got.ran && !IsPermanent(got.err), errors.Is(ctx.Err(), context.Canceled) && errors.Is(got.err, context.Canceled):
		if watched {
			h.unwatch(ctx, m, n)
		}
		// nobody is charged
	default:
		got.late = nil // that counts all the same
		got.err = h.conclude(ctx, e, m, n, got, took)
	}
	return got
}
