package relay

import (
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
	// partitions in which they are
	partitions map[int64]int
	free       chan struct{} // closed when the last call has returned
}

func (s *stuckCalls) add(events []*event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seqs) == 0 {
		s.seqs, s.keys, s.free = make(map[int64]int), make(map[string]int), make(chan struct{})
		s.partitions = make(map[int64]int)
	}
	s.n++
	for _, e := range events {
		s.seqs[e.msg.Seq]++
		s.keys[e.msg.Key]++
		s.partitions[partitionOf(e)]++
	}
}

func (s *stuckCalls) remove(events []*event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
	for _, e := range events {
		s.partitions[partitionOf(e)]--
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

func (s *stuckCalls) holdsPartition(p int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.partitions[p] > 0
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

// grace is how long after its time-out a hand-over may take to return.
func (r *Relay) grace() time.Duration { return min(r.opts.PublishTimeout, 5*time.Second) }
