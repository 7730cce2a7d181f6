package relay

import (
	"maps"
	"slices"
)

// won tells that the session owns a lease now.
func (s *session) won(name string, token int64) {
	if s.leases == nil {
		s.leases = make(map[string]int64)
	}
	s.leases[name] = token
	for _, h := range s.r.hooks.leaseWon {
		h.LeaseWon(name, token)
	}
}

// gave tells that it does not any more; err is nil if it gave the lease back.
func (s *session) gave(name string, err error) {
	for _, h := range s.r.hooks.leaseLost {
		h.LeaseLost(name, s.leases[name], err)
	}
	delete(s.leases, name)
}

// gaveAll tells the end of all that the session owned.
func (s *session) gaveAll() {
	s.mu.Lock()
	err := s.lost
	s.mu.Unlock()
	if err == nil && s.deadline.Over() {
		err = ErrLeaseLost
	}
	for _, name := range slices.Sorted(maps.Keys(s.leases)) {
		s.gave(name, err)
	}
}
