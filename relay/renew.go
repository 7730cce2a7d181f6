package relay

import (
	"context"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// Claims of deliveries are renewed each third of a Lease, but those whose handler's transaction holds the record: it keeps
// others off as well.
const (
	// By primary key.
	lockClaim  = `SELECT seq FROM {deliveries} WHERE seq = ? AND handler = ? AND state = 0 AND settled_ms = ?{lock_skip}`
	renewClaim = `{update_deliveries} SET due_ms = {clock} + ? WHERE seq = ? AND handler = ? AND state = 0 AND settled_ms = ?`
)

func (s *server) hold(l *left) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[l] = struct{}{}
}

func (s *server) letGo(l *left) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, l)
}

// busy reports whether a delivery of this scope is under way.
func (s *server) busy(scope string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.held {
		if l.scope() == scope {
			return true
		}
	}
	return false
}

// renewAll renews what is held until ctx ends.
func (s *server) renewAll(ctx context.Context) {
	r := s.h.relay
	tick := time.NewTicker(max(r.opts.Lease/12, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, l := range s.old() {
			if err := s.renew(ctx, l); err != nil && ctx.Err() == nil {
				r.log.Warn("the claim of a delivery could not be renewed yet", "handler", l.n.shown, "seq", l.seq, "error", err)
			}
		}
	}
}

// old are those that are to be renewed.
func (s *server) old() (all []*left) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.held {
		if s.h.relay.now().Mono-l.renewed.Mono >= s.h.relay.opts.Lease/3 {
			all = append(all, l)
		}
	}
	return all
}

func (s *server) renew(ctx context.Context, l *left) error {
	r := s.h.relay
	ctx, cancel := r.bounded(ctx)
	defer cancel()
	from, held := r.now(), false
	err := txn.Run(ctx, s.h.own, s.h.d, func(tx dialect.Tx) (err error) {
		held, err = r.changeIfFree(ctx, tx, lockClaim, renewClaim, []any{l.seq, l.n.name, int64(l.no)}, r.opts.Lease.Milliseconds())
		return err
	})
	if err == nil && held {
		s.mu.Lock()
		defer s.mu.Unlock()
		l.renewed = from
	}
	return err
}

// lapsed reports whether another process may have the delivery by now.
func (s *server) lapsed(l *left) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.h.relay.now().Since(l.renewed) > clocks.Usable(s.h.relay.opts.Lease)
}
