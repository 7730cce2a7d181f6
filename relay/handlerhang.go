package relay

import (
	"context"
	"sync/atomic"
	"time"
)

// calling is a handler's call from its beginning until it returns: it alone is charged if it does not, by its own record. What
// it waited for before is charged to nobody.
type calling struct {
	n      need        // as it began
	judged atomic.Bool // what came of it is known: it has returned, or it is charged
}

// begins notes that an event's handler is called now. late is its call if it was charged by then, for not returning.
func (h *Handlers) begins(e *event, n *need) (returned func() (late *calling)) {
	c := &calling{n: *n}
	e.began.Store(int64(h.relay.now().Mono))
	e.calling.Store(c)
	return func() (late *calling) {
		e.calling.Store(nil)
		h.notes(e)
		if c.judged.CompareAndSwap(false, true) {
			return nil
		}
		return c
	}
}

// notes gives an event's hand-over the time that a note of its handlers may take, from now on.
func (h *Handlers) notes(e *event) {
	e.began.Store(int64(h.relay.now().Mono + max(0, h.noting()-h.relay.hangLimit())))
}

// charge is what an event's handler is charged with that does not return.
func (h *Handlers) charge(e *event, c *calling) error {
	now, err := h.judge(e, c.n.message(e), &c.n, h.relay.notReturned())
	if IsPermanent(err) {
		return err
	}
	return &retryError{err, now.wait}
}

// hangError is what a hand-over comes to that was given up: what its handler is charged with, if one has had its time.
func (r *Relay) hangError(e *event) error {
	c := e.calling.Load()
	if c == nil || r.now().Mono-time.Duration(e.began.Load()) < r.hangLimit() {
		return r.notReturned()
	}
	return &handlerError{c.n.shown, r.handlers.charge(e, c)}
}

// chargeHang notes that an event's handler does not return, and answers what that comes to. charged is false where it has
// returned, or is not in its call: nobody is charged.
func (h *Handlers) chargeHang(ctx context.Context, e *event, took time.Duration) (failure error, charged bool) {
	c := e.calling.Load()
	if c == nil || !c.judged.CompareAndSwap(false, true) {
		return nil, false
	}
	return h.conclude(ctx, e, c.n.message(e), &c.n, result{err: h.relay.notReturned(), ran: true}, took), true
}
