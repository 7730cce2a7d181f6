package relay

import (
	"context"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
)

// server runs deliveries that other processes have left to this one's handlers.
type server struct {
	h    *Handlers
	free chan struct{} // places; a handler that does not return keeps its own alone
	runs sync.WaitGroup

	// Used by the loop alone.
	looked map[string]deliveryMark // by handler
	looks  int
	last   map[string]int // by handler: the last look that has found something of it
	pauses pauses

	mu   sync.Mutex // guards held
	held map[*left]struct{}
}

// startServing runs what other releases leave to this one's handlers; stop ends it, and waits for what is under way as long
// as for a hand-over.
func (r *Relay) startServing(ctx context.Context) (stop func()) {
	if r.handlers == nil {
		return func() {}
	}
	s := &server{
		h: r.handlers, free: make(chan struct{}, max(r.opts.Concurrency, 1)),
		looked: make(map[string]deliveryMark), last: make(map[string]int), held: make(map[*left]struct{}),
	}
	r.handlers.serving.Store(true)
	ctx, cancel := context.WithCancel(ctx)
	calls, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(r.opts.ShutdownTimeout, func() { cut(errShutdown) }) })
	renewing, enough := context.WithCancel(context.WithoutCancel(ctx))
	var loop sync.WaitGroup
	loop.Go(func() { s.serve(ctx, calls) })
	var renewal sync.WaitGroup
	renewal.Go(func() { s.renewAll(renewing) })
	return func() {
		cancel()
		loop.Wait()
		over := make(chan struct{})
		go func() { // a handler that never returns costs this goroutine too
			s.runs.Wait()
			close(over)
		}()
		select {
		case <-over:
			cut(nil)
		case <-time.After(r.opts.ShutdownTimeout + r.grace()):
			r.log.Error("a handler that was run for another release does not return")
		}
		enough()
		renewal.Wait()
		r.handlers.serving.Store(false)
	}
}

// serve goes on until ctx ends. One delivery that fails, or does not return, holds up none of the others.
func (s *server) serve(ctx, calls context.Context) {
	r := s.h.relay
	var idle idleWait
	for {
		places := s.places(ctx)
		if places == 0 {
			return
		}
		n, err := s.look(ctx, calls, places)
		switch {
		case err != nil:
			if ctx.Err() == nil {
				r.log.Warn("deliveries that other releases have left could not be looked up", "error", err)
			}
			clocks.Sleep(ctx, idle.afterError())
		case n == 0:
			clocks.Sleep(ctx, idle.next(r.opts))
		default:
			idle.reset()
		}
	}
}

// look begins as many deliveries as there are places, and gives back the others. One that must run alone is run to its end.
func (s *server) look(ctx, calls context.Context, places int) (begun int, err error) {
	defer func() {
		for range places - begun {
			<-s.free
		}
	}()
	found, alone, err := s.find(ctx, places)
	if err != nil {
		return 0, err
	}
	if len(found) > 0 {
		claimed, err := s.claim(ctx, found, false)
		if err != nil {
			return 0, err
		}
		for _, l := range claimed {
			s.begin(calls, l, nil)
		}
		begun = len(claimed)
	}
	if alone == nil {
		return begun, nil
	}
	// Claimed once it is alone: what ends the process meanwhile is not its doing.
	waiting, cancel := context.WithTimeout(ctx, s.h.relay.hangLimit())
	defer cancel()
	p, err := s.h.enter(waiting, alone.n.own, nil, true)
	if err != nil {
		delete(s.looked, alone.n.name) // the next look tries again: it begins anew
		return begun, nil
	}
	claimed, err := s.claim(ctx, []*left{alone}, true)
	if err != nil || len(claimed) == 0 {
		p.leave()
		return begun, err
	}
	begun++
	select {
	case <-s.begin(calls, alone, p):
	case <-calls.Done(): // it may not return
	}
	return begun, nil
}

// begin runs a claimed delivery. One that is alone has its place already. over is closed when it has ended, or does not return.
func (s *server) begin(calls context.Context, l *left, p *place) (over <-chan struct{}) {
	s.hold(l)
	gone := make(chan struct{})
	s.runs.Go(func() {
		defer func() { <-s.free }()
		end := sync.OnceFunc(func() {
			s.letGo(l)
			close(gone)
		})
		defer end()
		if err := guarded(func() error { return s.run(calls, l, p, end) }); err != nil {
			s.h.relay.log.Warn("a delivery that another release has left could not be run; it is tried again",
				"handler", l.n.shown, "seq", l.seq, "error", err)
		}
	})
	return gone
}

// places waits for a place, and takes all that are free; none when ctx has ended.
func (s *server) places(ctx context.Context) (n int) {
	if ctx.Err() != nil {
		return 0
	}
	select {
	case <-ctx.Done():
		return 0
	case s.free <- struct{}{}:
	}
	for n = 1; ; n++ {
		select {
		case s.free <- struct{}{}:
		default:
			return n
		}
	}
}
