package relay

import (
	"context"
	"sync"
	"time"
)

// gate lets handlers' calls of this process in, once they have a place of their handler's own: any number beside each other, or
// one alone, whose crash must name its culprit. One that is to be alone is waited for by those that come after it.
type gate struct {
	mu      sync.Mutex // guards what follows
	inside  int
	alone   bool // the one that is inside
	waiting int  // to be alone
	changed chan struct{}
}

// enter waits for a place. leave may be called more than once.
func (g *gate) enter(ctx context.Context, alone bool) (leave func(), err error) {
	if alone {
		g.wait(1)
		defer g.wait(-1)
	}
	for {
		changed, in := g.tryEnter(alone)
		if in {
			return sync.OnceFunc(g.leave), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (g *gate) tryEnter(alone bool) (changed <-chan struct{}, in bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if alone && g.inside > 0 || !alone && (g.alone || g.waiting > 0) {
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		return g.changed, false
	}
	g.inside++
	g.alone = alone
	return nil, true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.alone = false
	g.tell()
}

func (g *gate) wait(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting += n
	g.tell()
}

// tell has those that wait look again; mu is held.
func (g *gate) tell() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// running are the calls of this process, by event and handler, for as long as they have not returned. Nobody makes one of
// them again meanwhile, also where it was given up.
type running struct {
	mu    sync.Mutex // guards calls
	calls map[runningCall]bool
}

type runningCall struct {
	seq     int64
	handler string // its first name
}

// begin is false if it is under way.
func (r *running) begin(seq int64, handler string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := runningCall{seq, handler}
	if r.calls[c] {
		return false
	}
	if r.calls == nil {
		r.calls = make(map[runningCall]bool)
	}
	r.calls[c] = true
	return true
}

func (r *running) end(seq int64, handler string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, runningCall{seq, handler})
}

func (r *running) has(seq int64, handler string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[runningCall{seq, handler}]
}

// place is where a call is made: one of its handler's own, and one in the gate.
type place struct{ room, gate func() } // each gives it back, once

func (p *place) leave() {
	p.gate()
	p.room()
}

// enter waits for a call's place until ctx ends. Its handler's own comes first: one that waits for that is in nobody's way, and
// keeps nothing from being alone. e is nil where the relay has not handed the event over.
func (h *Handlers) enter(ctx context.Context, own *handler, e *event, alone bool) (*place, error) {
	room, err := own.enter(ctx, h.relay, e, alone)
	if err != nil {
		return nil, h.notRun(ctx, err)
	}
	gate, err := h.gate.enter(ctx, alone)
	if err != nil {
		room()
		return nil, h.notRun(ctx, err)
	}
	return &place{room, gate}, nil
}

// onStuck calls fn if a call of an event's handler does not return after its time and the grace. returned ends that.
func (h *Handlers) onStuck(e *event, fn func(took time.Duration)) (returned func()) {
	r := h.relay
	e.began.Store(int64(r.now().Mono))
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			took := r.now().Mono - time.Duration(e.began.Load())
			left := r.hangLimit() - took
			if left <= 0 {
				fn(took)
				return
			}
			select {
			case <-ended:
				return
			case <-time.After(left):
			}
		}
	}()
	return func() {
		close(ended)
		<-over
	}
}
