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

// begins notes that an event's handler is called now. late: it was charged by then, for not returning.
func (h *Handlers) begins(e *event, n *need) (returned func() (late bool)) {
	c := &calling{n: *n}
	e.began.Store(int64(h.relay.now().Mono))
	e.calling.Store(c)
	return func() (late bool) {
		e.calling.Store(nil)
		return !c.judged.CompareAndSwap(false, true)
	}
}

// hangs is what a hand-over comes to that was given up with failure: what its handler is charged with, if one has had its time.
func (h *Handlers) hangs(e *event, failure error) error {
	if h == nil {
		return failure
	}
	c := e.calling.Load()
	if c == nil || h.relay.now().Mono-time.Duration(e.began.Load()) < h.relay.hangLimit() {
		return failure
	}
	m := e.msg
	m.Attempt = c.n.attempts + 1
	now, err := h.judge(e, m, &c.n, failure)
	err = &handlerError{c.n.shown, err}
	if IsPermanent(err) {
		return err
	}
	return &retryError{err, now.wait}
}

// chargeHang notes that an event's handler does not return.
func (h *Handlers) chargeHang(ctx context.Context, e *event, took time.Duration) {
	c := e.calling.Load()
	if c == nil || !c.judged.CompareAndSwap(false, true) {
		return
	}
	m := e.msg
	m.Attempt = c.n.attempts + 1
	_ = h.conclude(ctx, e, m, &c.n, result{err: h.relay.notReturned(), ran: true}, took) // the hand-over's outcome is hangs
}
