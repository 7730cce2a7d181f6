package relay

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// hand is what a relay has taken and not settled yet: events in chains, one chain for each scope of order. Events of a
// chain are handed over one after another, chains side by side. Workers end events; one coordinator takes what has
// ended and puts more in.
type hand struct {
	r       *Relay
	ctx     context.Context // of the hand-overs
	cancel  context.CancelCauseFunc
	workers int           // hand-overs at once
	news    chan struct{} // holds one: there is something for the coordinator

	mu     sync.Mutex // guards what follows
	chains map[string]*chain
	ready  []*chain // with events, and no call under way
	calls  map[*call]struct{}
	active int     // workers
	done   []ended // since the coordinator looked last
	count  int     // events not ended
	low    int     // tell the coordinator when no more than these are left
	halted bool    // no further hand-overs
	// held are the scopes in which something failed since the coordinator looked last. A turn that was under way then
	// did not know it, so that what it took of them must wait.
	held map[string]bool
}

type chain struct {
	scope  string
	events []*event // to be handed over, in order
}

// call is one call of the publisher, for one event or, with a BatchPublisher, several.
type call struct {
	events  []*event
	chains  []*chain
	started time.Duration // r.now().mono
	givenUp bool
}

func (r *Relay) newHand(ctx context.Context, workers int) *hand {
	h := &hand{
		r: r, workers: workers, news: make(chan struct{}, 1),
		chains: make(map[string]*chain), calls: make(map[*call]struct{}), held: make(map[string]bool),
	}
	h.ctx, h.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	return h
}

// take puts events in, in order, and sets workers going.
func (h *hand) take(events []*event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		if h.halted || h.held[e.scope] {
			h.done = append(h.done, ended{e, outcome{}})
			continue
		}
		h.count++
		c := h.chains[e.scope]
		if c == nil {
			c = &chain{scope: e.scope}
			h.chains[e.scope] = c
			h.ready = append(h.ready, c)
		}
		c.events = append(c.events, e)
	}
	for i := len(h.ready); i > 0 && h.active < h.workers; i-- {
		h.active++
		go h.work()
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
		errs := h.r.handOver(h.ctx, c.events)
		c = nil
		h.end(next, errs)
	}
}

// next begins the next call. It answers nil when there is none to make, and then the worker is no longer counted: under
// the same lock, so that take sees either the worker or its absence. The deadline is looked at before each call.
func (h *hand) next() *call {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.halted || len(h.ready) == 0 {
		h.active--
		return nil
	}
	c := &call{started: h.r.now().mono}
	if h.r.batch == nil {
		h.pick(c, 1)
	} else {
		for len(h.ready) > 0 && len(c.events) < h.r.opts.Batch {
			h.pick(c, h.r.opts.Batch)
		}
	}
	for _, e := range c.events {
		if e.guard.over() {
			h.putBack(c)
			h.halt()
			h.active--
			return nil
		}
	}
	h.calls[c] = struct{}{}
	return c
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
	took := h.r.now().mono - c.started
	outs := make([]outcome, len(errs))
	for i, err := range errs {
		outs[i] = h.r.judge(h.ctx, c.events[i], err, took)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.givenUp {
		h.r.stuck.remove(c.events)
		h.tell()
		return
	}
	delete(h.calls, c)
	h.settle(c, outs)
}

// settle puts a call's events among the ended ones and its chains back in line. What is behind the first failure of a
// chain is not charged, and leaves the hand untouched.
func (h *hand) settle(c *call, outs []outcome) {
	held := make(map[*chain]bool)
	away := false
	for i, e := range c.events {
		ch, o := c.chains[i], outs[i]
		if held[ch] && o.verdict != published {
			o = outcome{}
		}
		h.done = append(h.done, ended{e, o})
		h.count--
		held[ch] = held[ch] || h.r.holds(o)
		away = away || o.verdict == unavailable
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

// drop lets go of a chain without handing the rest of it over.
func (h *hand) drop(ch *chain) {
	for _, e := range ch.events {
		h.done = append(h.done, ended{e, outcome{}})
	}
	h.count -= len(ch.events)
	ch.events = nil
	h.forget(ch)
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

func (h *hand) tell() {
	select {
	case h.news <- struct{}{}:
	default:
	}
}

// collect takes what has ended. left is how many have not; halted means that no more is handed over.
func (h *hand) collect() (all []ended, left int, halted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all, h.done = h.done, nil
	clear(h.held)
	return all, h.count, h.halted
}

// state is how many have ended and how many have not.
func (h *hand) state() (done, left int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.done), h.count
}

// expect has the coordinator told when no more than low are left.
func (h *hand) expect(low int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.low = low
}

// unsettled are the events in hand, ended or not.
func (h *hand) unsettled() []*event {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*event
	for _, x := range h.done {
		all = append(all, x.e)
	}
	for c := range h.calls {
		all = append(all, c.events...)
	}
	for _, ch := range h.chains {
		all = append(all, ch.events...)
	}
	return all
}

// giveUp gives up on calls that should have returned long ago: their events have failed, and are kept from being
// handed out again here until they return. Their workers stay occupied.
func (h *hand) giveUp(limit time.Duration) {
	var given []*call
	h.mu.Lock()
	now := h.r.now().mono
	for c := range h.calls {
		if now-c.started < limit {
			continue
		}
		c.givenUp = true
		delete(h.calls, c)
		h.r.stuck.add(c.events)
		outs := make([]outcome, len(c.events))
		for i, e := range c.events {
			outs[i] = h.r.judge(h.ctx, e, fmt.Errorf("%w within %v", ErrStuck, limit), now-c.started)
		}
		h.settle(c, outs)
		given = append(given, c)
	}
	if len(given) > 0 && h.r.opts.Order != OrderNone {
		h.halt() // nothing may overtake what is stuck
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
