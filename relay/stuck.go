package relay

import (
	"fmt"
	"sync"
	"time"
)

// stuckCalls are the events that a publisher of this process still holds though they were given up on. They must not
// be handed out again here before the call returns.
type stuckCalls struct {
	mu   sync.Mutex // guards the rest
	n    int        // calls
	seqs map[int64]int
	keys map[string]int
	in   map[int64]int // by partition
	free chan struct{} // closed when the last call has returned
}

func (s *stuckCalls) add(events []*event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seqs) == 0 {
		s.seqs, s.keys, s.in, s.free = make(map[int64]int), make(map[string]int), make(map[int64]int), make(chan struct{})
	}
	s.n++
	for _, e := range events {
		s.seqs[e.msg.Seq]++
		s.keys[e.msg.Key]++
		s.in[partitionOf(e)]++
	}
}

func (s *stuckCalls) remove(events []*event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
	for _, e := range events {
		s.in[partitionOf(e)]--
		if s.seqs[e.msg.Seq]--; s.seqs[e.msg.Seq] <= 0 {
			delete(s.seqs, e.msg.Seq)
		}
		if s.keys[e.msg.Key]--; s.keys[e.msg.Key] <= 0 {
			delete(s.keys, e.msg.Key)
		}
	}
	if len(s.seqs) == 0 {
		close(s.free)
	}
}

func (s *stuckCalls) holds(seq int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seqs[seq] > 0
}

// holdsKey reports whether a call that is stuck has an event of that key.
func (s *stuckCalls) holdsKey(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return key != "" && s.keys[key] > 0
}

// holdsPartition reports whether a call that is stuck has an event of that partition.
func (s *stuckCalls) holdsPartition(p int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in[p] > 0
}

// number is how many calls are stuck.
func (s *stuckCalls) number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// any is closed once no call is stuck, or nil when none is.
func (s *stuckCalls) any() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seqs) == 0 {
		return nil
	}
	return s.free
}

// hangLimit is how long a call may take to return.
func (r *Relay) hangLimit() time.Duration { return r.opts.PublishTimeout + r.grace() }

// notReturned is the failure of a call that has taken longer.
func (r *Relay) notReturned() error { return fmt.Errorf("%w within %v", ErrStuck, r.hangLimit()) }

// grace is how long after its time-out a hand-over may take to return.
func (r *Relay) grace() time.Duration { return min(r.opts.PublishTimeout, 5*time.Second) }
