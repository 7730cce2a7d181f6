package relay

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// series is a batch on its way through the publisher: handed over in calls of one event, or all in one call for a
// BatchPublisher, by one worker or several. Workers write outcomes; one coordinator reads those that have ended, and
// gives up on calls that don't return.
type series struct {
	r       *Relay
	ctx     context.Context // of the hand-overs
	guard   *deadline       // until when the events are ours; looked at before each call
	events  []*event
	ordered bool // stop at the first outcome that holds what is behind it

	size    int // events a call
	calls   []call
	out     []outcome // out[i] may be read once its call has ended
	next    atomic.Int64
	stop    atomic.Bool // no further calls
	expired atomic.Bool // the guard stopped it
	slots   chan struct{}
	workers atomic.Int64  // not counting those that were given up on
	done    chan struct{} // closed when no worker is left
	drained chan struct{} // closed when no call is left to start
	drain   sync.Once
}

type call struct {
	state   atomic.Int32
	started atomic.Int64 // r.now().mono
}

const (
	callWaiting = iota
	callUnderWay
	callEnded
	callGivenUp
)

func (r *Relay) newSeries(ctx context.Context, guard *deadline, events []*event, ordered bool) *series {
	s := &series{
		r: r, ctx: ctx, guard: guard, events: events, ordered: ordered,
		size: 1, out: make([]outcome, len(events)), done: make(chan struct{}), drained: make(chan struct{}),
	}
	if r.batch != nil {
		s.size = len(events)
	}
	s.calls = make([]call, (len(events)+s.size-1)/s.size)
	return s
}

// start sets workers going; slots, if given, is taken by a worker for as long as it works.
func (s *series) start(workers int, slots chan struct{}) {
	workers = min(workers, len(s.calls))
	s.slots = slots
	s.workers.Store(int64(workers))
	for range workers {
		go s.worker()
	}
}

func (s *series) worker() {
	if s.slots != nil {
		s.slots <- struct{}{}
		defer func() { <-s.slots }()
	}
	s.work()
}

// work makes calls until there are none left or it is told to stop.
func (s *series) work() {
	i, gone := -1, false // the call under way; given up on
	defer func() {
		if i >= 0 { // runtime.Goexit: end the call as failed and go on in a goroutine that lives
			if s.end(i, same(errGoexit, len(s.part(i))), 0) {
				go s.worker()
			}
			return
		}
		if !gone {
			s.leave()
		}
	}()
	for !s.stop.Load() {
		n := int(s.next.Add(1)) - 1
		if n >= len(s.calls)-1 {
			s.drain.Do(func() { close(s.drained) })
		}
		if n >= len(s.calls) {
			return
		}
		if s.guard.over() {
			s.expired.Store(true)
			s.stop.Store(true)
			return
		}
		began := s.r.now().mono
		s.calls[n].started.Store(int64(began))
		s.calls[n].state.Store(callUnderWay)
		i = n
		errs := s.r.handOver(s.ctx, s.part(n))
		i = -1
		if !s.end(n, errs, s.r.now().mono-began) {
			gone = true // given up on meanwhile, and no longer counted
			return
		}
	}
}

func (s *series) part(i int) []*event {
	return s.events[i*s.size : min((i+1)*s.size, len(s.events))]
}

// end records a call's outcomes; false when the coordinator has given up on it.
func (s *series) end(i int, errs []error, took time.Duration) bool {
	part := s.part(i)
	held, away := false, false
	for j, e := range part {
		o := s.r.judge(s.ctx, e, errs[j], took)
		if held && o.verdict != published {
			o = outcome{} // behind the first failure of an ordered batch: not charged
		}
		s.out[i*s.size+j] = o
		held = held || s.ordered && s.r.holds(o)
		away = away || o.verdict == unavailable
	}
	if held || away {
		s.stop.Store(true)
	}
	if !s.calls[i].state.CompareAndSwap(callUnderWay, callEnded) {
		s.r.stuck.remove(part)
		return false
	}
	return true
}

// holds reports whether an outcome keeps what is behind it waiting.
func (r *Relay) holds(o outcome) bool {
	switch o.verdict {
	case published:
		return false
	case dead:
		return r.opts.OnDead == HoldKey
	}
	return true
}

// leave is called once for every worker that ends or is given up on.
func (s *series) leave() {
	if s.workers.Add(-1) == 0 {
		s.drain.Do(func() { close(s.drained) })
		close(s.done)
	}
}

// giveUp gives up on calls that should have returned long ago, and reports whether there were any.
func (s *series) giveUp(limit time.Duration) bool {

	any := false
	for i := range s.calls {
		c := &s.calls[i]
		since := s.r.now().mono - time.Duration(c.started.Load())
		if c.state.Load() != callUnderWay || since < limit {
			continue
		}
		s.r.stuck.add(s.part(i))
		if !c.state.CompareAndSwap(callUnderWay, callGivenUp) {
			s.r.stuck.remove(s.part(i)) // it returned just now
			continue
		}
		any = true
		for _, e := range s.part(i) {
			s.r.log.Error("the publisher does not return", "id", e.msg.ID, "topic", e.msg.Topic, "since", since)
			for _, h := range s.r.hooks.stuck {
				h.Stuck(e.msg, since)
			}
		}
		s.leave()
	}
	return any
}

// outcome of event i, and whether its call has ended.
func (s *series) outcome(i int) (outcome, bool) {
	switch s.calls[i/s.size].state.Load() {
	case callEnded:
		return s.out[i], true
	case callGivenUp:
		if s.ordered && i%s.size > 0 {
			return outcome{}, true // only the first of a stuck batch is charged
		}
		err := fmt.Errorf("%w within %v", ErrStuck, s.r.opts.PublishTimeout+s.r.grace())
		return s.r.judge(s.ctx, s.events[i], err, 0), true
	}
	return outcome{}, false
}
