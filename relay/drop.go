package relay

import (
	"maps"
	"slices"
	"time"
)

// drop lets go of a chain without handing the rest of it over.
func (h *hand) drop(ch *chain) {
	h.dropRest(ch)
	h.forget(ch)
}

func (h *hand) dropRest(ch *chain) {
	for _, e := range ch.events {
		h.done = append(h.done, ended{e, outcome{}})
	}
	h.count -= len(ch.events)
	ch.events = nil
}

// dropScope lets go of what stands behind a settled event of its scope, also of what the last turn has taken.
func (h *hand) dropScope(scope string) {
	h.held[scope] = true
	ch := h.chains[scope]
	if ch == nil {
		return
	}
	h.dropRest(ch)
	if i := slices.Index(h.ready, ch); i >= 0 { // no call of it is under way
		h.ready = slices.Delete(h.ready, i, i+1)
		h.forget(ch)
	}
}

func (h *hand) forget(ch *chain) {
	if h.chains[ch.scope] == ch {
		delete(h.chains, ch.scope)
	}
}

// halt lets go of everything that is not under way.
func (h *hand) halt() {
	h.halted = true
	for _, ch := range h.chains {
		h.drop(ch)
	}
	h.ready = nil
	h.tell()
}

// stop is halt for the coordinator; cause, if not nil, ends the contexts of the calls under way as well.
func (h *hand) stop(cause error) {
	h.mu.Lock()
	h.halt()
	h.mu.Unlock()
	if cause != nil {
		h.cancel(cause)
	}
}

// shed lets go of what stands behind calls that take long, so that the hand has room for others.
func (h *hand) shed(limit time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.r.now().Mono
	for c := range h.calls {
		if now-c.started < limit {
			continue
		}
		for _, ch := range c.chains {
			h.slow[ch.scope] = true
			if len(ch.events) > 0 {
				h.dropRest(ch)
			}
		}
	}
	if len(h.slow) > 0 {
		h.tell()
	}
}

// isStuck reports whether nobody is left to make calls: as many as may be made at once do not return.
func (h *hand) isStuck() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.given >= h.most
}

// slowOnes are the scopes with a call that takes long.
func (h *hand) slowOnes() map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.slow)
}

// giveUp gives up on calls that should have returned long ago, or on all where the relay cut them off itself and its grace is
// over: their events are kept from being handed out again here until they return. Their goroutines stay occupied.
func (h *hand) giveUp(all bool) {
	var given []*call
	h.mu.Lock()
	now := h.r.now().Mono
	for c := range h.calls {
		late := now-c.since() >= h.r.hangLimit()
		if !late && !all {
			continue
		}
		c.givenUp = true
		h.given++
		delete(h.calls, c)
		for _, ch := range c.chains {
			delete(h.slow, ch.scope)
		}
		h.r.stuck.add(c.events)
		outs := make([]outcome, len(c.events))
		for i, e := range c.events {
			if late {
				outs[i] = h.r.judge(h.ctx, e, h.r.hangError(e), now-c.started)
			} else {
				outs[i] = h.r.cutShort(now - c.started)
			}
		}
		c.over(ErrStuck) // what is left of it is another call's
		h.settle(c, outs)
		given = append(given, c)
	}
	h.setMost()
	h.setGoing()
	if h.given >= h.most { // in OrderTotal nothing may overtake what is stuck
		h.halt()
	}
	h.mu.Unlock()
	for _, c := range given {
		for _, e := range c.events {
			h.r.log.Error("the publisher does not return", "id", e.msg.ID, "topic", e.msg.Topic, "since", now-c.started)
			for _, o := range h.r.hooks.stuck {
				o.Stuck(e.msg, now-c.started)
			}
		}
	}
}
