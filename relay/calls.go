package relay

import (
	"context"
	"slices"
	"time"
)

// call is one call of the publisher, for one event or, with a BatchPublisher, several.
type call struct {
	events  []*event
	chains  []*chain
	started time.Duration // r.now().Mono
	givenUp bool
	event   [1]*event // what events and chains begin in where calls have one
	chain   [1]*chain

	ctx    context.Context         // ends with the hand's, and when an event is no longer ours
	cancel context.CancelCauseFunc // ends ctx; nil: it is the hand's
}

// over ends what belongs to the call alone.
func (c *call) over(cause error) {
	if c.cancel != nil {
		c.cancel(cause)
	}
}

// endAlone: calls have contexts of their own, since they may have to end before others do. Else what ends one ends all, the lease, or
// it is PublishTimeout. A context costs a call that is quick as much as all the rest.
func (h *hand) endAlone() bool { return h.r.opts.Order == OrderNone || h.r.handlers != nil }

// since is when it began, or its last handler: each has a time of its own.
func (c *call) since() time.Duration {
	since := c.started
	for _, e := range c.events {
		since = max(since, time.Duration(e.began.Load()))
	}
	return since
}

// watchDeadlines ends the contexts of calls whose events are no longer ours, whatever else the relay is waiting for.
func (h *hand) watchDeadlines() {
	tick := time.NewTicker(max(h.r.opts.Lease/40, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-tick.C:
			h.cutOff()
		}
	}
}

func (h *hand) cutOff() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.calls {
		for _, e := range c.events {
			if e.guard.Over() {
				h.halt()
				if c.cancel == nil {
					h.cancel(ErrLeaseLost)
				}
				c.over(ErrLeaseLost)
				break
			}
		}
	}
}

// work makes calls for as long as there is anything ready.
func (h *hand) work() {
	var c *call
	defer func() {
		if c != nil { // runtime.Goexit: the call has failed, and a goroutine that lives goes on
			h.end(c, same(errGoexit, len(c.events)))
			go h.work()
		}
	}()
	for next := h.next(); next != nil; next = h.next() {
		c = next
		errs := h.r.handOver(c.ctx, c.events)
		c = nil
		h.end(next, errs)
	}
}

// next begins the next call. It answers nil when there is none to make, and then its goroutine is no longer counted:
// under the same lock, so that take sees either it or its absence. The deadline is looked at before each call.
func (h *hand) next() *call {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.halted || len(h.ready) == 0 || h.active > h.most {
		h.active--
		return nil
	}
	c := &call{started: h.r.now().Mono, ctx: h.ctx}
	if h.endAlone() {
		c.ctx, c.cancel = context.WithCancelCause(h.ctx)
	}
	if h.r.batch == nil {
		c.events, c.chains = c.event[:0], c.chain[:0]
		h.pick(c, 1)
	} else {
		n := min(h.count, h.r.opts.Batch)
		c.events, c.chains = make([]*event, 0, n), make([]*chain, 0, n)
		for len(h.ready) > 0 && len(c.events) < h.r.opts.Batch {
			h.pick(c, min(h.perCall(), h.r.opts.Batch-len(c.events)))
		}
	}
	for _, e := range c.events {
		e.hand = h
		if e.guard.Over() {
			c.over(nil)
			h.putBack(c)
			h.halt()
			h.active--
			return nil
		}
	}
	h.calls[c] = struct{}{}
	return c
}

// perCall is how many events of a chain go into one call: a publisher that does not stop at a key's first failure must
// not have the next one of that key.
func (h *hand) perCall() int {
	if h.r.opts.Order == OrderPerKey && !h.r.opts.BatchInOrder {
		return 1
	}
	return h.r.opts.Batch
}

// pick moves up to n events of the first ready chain into c; a row that can't be read goes by itself.
func (h *hand) pick(c *call, n int) {
	ch := h.ready[0]
	h.ready = h.ready[1:]
	n = min(n, len(ch.events))
	for _, e := range ch.events[:n] {
		c.events, c.chains = append(c.events, e), append(c.chains, ch)
	}
	ch.events = ch.events[n:]
}

func (h *hand) putBack(c *call) {
	for i := len(c.events) - 1; i >= 0; i-- {
		ch := c.chains[i]
		ch.events = append([]*event{c.events[i]}, ch.events...)
	}
}

// end records what came of a call.
func (h *hand) end(c *call, errs []error) {
	took := h.r.now().Mono - c.started
	pace := h.r.pace.Load()
	h.r.pace.Store(pace + (int64(took)/int64(len(errs))-pace)/8)
	outs := make([]outcome, len(errs))
	for i, err := range errs {
		outs[i] = h.r.judge(c.ctx, c.events[i], err, took)
	}
	c.over(nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.givenUp {
		h.given--
		h.r.stuck.remove(c.events)
		h.tell()
		return
	}
	delete(h.calls, c)
	for _, ch := range c.chains {
		delete(h.slow, ch.scope)
	}
	h.settle(c, outs)
}

// settle puts a call's events among the ended ones and its chains back in line. What is behind the first failure of a
// chain is not charged, and leaves the hand untouched.
func (h *hand) settle(c *call, outs []outcome) {
	var held map[*chain]bool // made when it is needed: nearly all calls succeed
	away := false
	h.done = slices.Grow(h.done, len(c.events))
	for i, e := range c.events {
		ch, o := c.chains[i], outs[i]
		if held[ch] && o.verdict != published {
			o = outcome{}
		}
		h.done = append(h.done, ended{e, o})
		h.count--
		if h.r.holds(o) {
			if held == nil {
				held = make(map[*chain]bool)
			}
			held[ch] = true
		}
		away = away || o.verdict == unavailable
		if o.verdict == published && h.r.handlers != nil {
			h.last[e.scope] = e
		}
	}
	var last *chain
	for _, ch := range c.chains {
		switch {
		case ch == last:
		case held[ch]:
			h.held[ch.scope] = true
			h.drop(ch)
		case len(ch.events) == 0:
			h.forget(ch)
		default:
			h.ready = append(h.ready, ch)
		}
		last = ch
	}
	if away {
		h.halt()
	}
	if h.count <= h.low || held[last] {
		h.tell()
	}
}
