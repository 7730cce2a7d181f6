package relay

import (
	"context"
	"errors"
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
	next chan struct{} // closed when the next of them returns; nil: nobody waits
}

func (s *stuckCalls) add(events []*event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 {
		s.seqs, s.keys, s.in = make(map[int64]int), make(map[string]int), make(map[int64]int)
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
	if s.next != nil {
		close(s.next)
		s.next = nil
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

// any reports whether one is.
func (s *stuckCalls) any() bool { return s.number() > 0 }

// await waits until fewer than most are stuck, or ctx ends.
func (s *stuckCalls) await(ctx context.Context, most int) {
	for {
		s.mu.Lock()
		if s.n < most {
			s.mu.Unlock()
			return
		}
		if s.next == nil {
			s.next = make(chan struct{})
		}
		next := s.next
		s.mu.Unlock()
		select {
		case <-next:
		case <-ctx.Done():
			return
		}
	}
}

// besideStuck is err, and that a call is stuck where one is: what its session owns is not freed.
func (r *Relay) besideStuck(err error) error {
	switch {
	case !r.stuck.any(), errors.Is(err, ErrLeaseLost), errors.Is(err, ErrStuck):
		return err
	case err == nil:
		return errPublisherStuck
	}
	return fmt.Errorf("%w: %w", errPublisherStuck, err)
}

// errPublisherStuck ends a session beside a call that does not return: what it owns becomes free when its lease is over.
var errPublisherStuck = fmt.Errorf("give up the lease: %w", ErrStuck)

// hangLimit is how long a call may take to return.
func (r *Relay) hangLimit() time.Duration { return r.opts.PublishTimeout + r.grace() }

// notReturned is the failure of a call that has taken longer.
func (r *Relay) notReturned() error { return fmt.Errorf("%w within %v", ErrStuck, r.hangLimit()) }

// grace is how long after its time-out a hand-over may take to return.
func (r *Relay) grace() time.Duration { return min(r.opts.PublishTimeout, 5*time.Second) }
