package relay

import (
	"context"
	"sync"
	"time"
)

// hand is what a relay has taken and not settled yet: events in chains, one chain for each scope of order. Events of a
// chain are handed over one after another, chains side by side. Goroutines make calls, which end events; one coordinator takes what has
// ended and puts more in.
type hand struct {
	r      *Relay
	ctx    context.Context // of the hand-overs
	cancel context.CancelCauseFunc
	news   chan struct{} // holds one: there is something for the coordinator

	mu     sync.Mutex // guards what follows
	chains map[string]*chain
	ready  []*chain // with events, and no call under way
	calls  map[*call]struct{}
	most   int     // hand-overs at once
	active int     // goroutines that make calls
	given  int     // of these: in calls that were given up on, and have not returned
	done   []ended // since the coordinator looked last
	count  int     // events not ended
	low    int     // tell the coordinator when no more than these are left
	halted bool    // no further hand-overs
	// held are the scopes in which something failed since the coordinator looked last. A turn that was under way then
	// did not know it, so that what it took of them must wait.
	held map[string]bool
	slow map[string]bool   // scopes with a call that takes long
	last map[string]*event // with Handlers: by scope, the last one that is published and not settled
}

type chain struct {
	scope  string
	events []*event  // to be handed over, in order
	first  [1]*event // what events begins in: most chains have one
}

func (r *Relay) newHand(ctx context.Context) *hand {
	h := &hand{
		r: r, news: make(chan struct{}, 1),
		chains: make(map[string]*chain), calls: make(map[*call]struct{}), held: make(map[string]bool), slow: make(map[string]bool),
		last: make(map[string]*event),
	}
	h.setMost()
	h.ctx, h.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	go h.watchDeadlines() // until the hand is cancelled
	return h
}

// setMost sets how many hand-overs are made at once: calls that were given up in an earlier hand have their places until they return.
func (h *hand) setMost() { h.most = h.r.places() - (h.r.stuck.number() - h.given) }

// take puts events in, in order, and sets goroutines going.
func (h *hand) take(events []*event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range events {
		if h.halted || h.held[e.scope] || h.slow[e.scope] {
			h.done = append(h.done, ended{e, outcome{}})
			continue
		}
		h.count++
		c := h.chains[e.scope]
		if c == nil {
			c = &chain{scope: e.scope}
			c.events = c.first[:0]
			h.chains[e.scope] = c
			h.ready = append(h.ready, c)
		}
		c.events = append(c.events, e)
	}
	h.setGoing()
}

// setGoing starts goroutines for what is ready.
func (h *hand) setGoing() {
	for i := len(h.ready); i > 0 && h.active < h.most; i-- {
		h.active++
		go h.work()
	}
}

// standAside lets another call be made in place of one that waits for its handler's place, until back. What comes back may be
// one too many for a moment: its goroutine is the next to end.
func (h *hand) standAside() (back func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ready) > 0 && !h.halted {
		go h.work() // in its place
	} else {
		h.active--
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.active++
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

// overtakes reports whether the event before this one in its scope is not settled, and went through fewer handlers than there
// are by now: it may be put back for the one that has come since.
func (h *hand) overtakes(e *event) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.last[e.scope]
	return before != nil && before.known != e.known
}

// settled tells what a turn has settled. What was put back is read again, and so is what stands behind it in its scope.
func (h *hand) settled(all []ended) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, x := range all {
		if h.last[x.e.scope] == x.e {
			delete(h.last, x.e.scope)
		}
		if x.e.putBack {
			h.dropScope(x.e.scope)
		}
	}
}

// putOff gives back what collect has taken, for the next time. None of it holds its chain.
func (h *hand) putOff(all []ended) {
	if len(all) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = append(all, h.done...)
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

// soonOver reports whether all calls may be expected to end within a moment.
func (h *hand) soonOver(moment time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.r.now().Mono
	for c := range h.calls {
		if now-c.started > moment {
			return false
		}
	}
	atOnce := min(h.most, len(h.chains))
	if batch := h.r.opts.Batch; h.r.batch != nil {
		atOnce = min(atOnce, (h.count+batch-1)/batch)
	}
	atOnce = max(atOnce, 1)
	return time.Duration(h.r.pace.Load())*time.Duration(h.count)/time.Duration(atOnce) <= moment
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
