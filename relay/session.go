package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// A relay that runs has a row of its own: who it is, its last sign of life, and what it has in hand. The row is also
// the fence: whoever takes over from a relay takes its row away, or makes it the row of a crash, in the same transaction, and every outcome is written
// together with a change of the row that names its id, token and version. A late owner changes nothing.
const (
	// By primary key. Renewal after the end fails for a relay that owns by its row, even when nobody has taken over.
	beatRelay   = `UPDATE {relays} SET seen_ms = {clock}, until_ms = {clock} + ? WHERE id = ?`
	beatOwner   = `UPDATE {relays} SET seen_ms = {clock}, until_ms = {clock} + ? WHERE id = ? AND until_ms > {clock}`
	deleteRelay = `DELETE FROM {relays} WHERE id = ?`
)

// session is one life of a relay's row.
type session struct {
	r          *Relay
	id         string
	registered clocks.Instant  // before its row was made
	deadline   clocks.Deadline // of what it owns
	stopBeat   context.CancelFunc
	beating    sync.WaitGroup

	mu    sync.Mutex // guards what follows
	owns  bool       // it owns something
	token int64      // of the lease it owns in OrderTotal
	lost  error      // why it can't go on
	gone  chan struct{}

	// Used by the relay's loop alone.
	look     func(ctx context.Context) (signs, error)   // one cheap look for work
	rest     func(ctx context.Context, d time.Duration) // waits while the destination is down
	mayOwn   bool                                       // taking the lease has an unknown outcome
	version  int64                                      // of the row
	noted    inHand                                     // what is in hand, as the row says
	noting   inHand                                     // what the transaction under way says
	tail     tail                                       // what it has taken
	unknown  *turn                                      // whose commit has an unknown outcome
	looked   time.Duration                              // when the last look was that found out what is paused, by r.now().Mono
	leftDue  bool                                       // that look left something that is due as it was
	leases   map[string]int64                           // that it owns, with their tokens
	pauses   pauses
	pausedTo int64 // how far resume has looked
	claims   int64 // claims made so far
}

// beat gives signs of life and renews the lease, each third of it, until the session is over. Three outcomes: renewed,
// lost, and unknown, which is tried again until the local deadline. It has a goroutine of its own, so that a slow
// publisher does not cost the lease.
func (s *session) beat(ctx context.Context) {
	every := s.r.opts.Lease / 3
	pause := every
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.gone:
			return
		case <-time.After(pause):
		}
		from := s.r.now()
		beatCtx, cancel := context.WithTimeout(ctx, every)
		owns, token := s.owned()
		err := s.renew(beatCtx, owns, token)
		if err == nil {
			s.count(beatCtx)
		}
		cancel()
		switch {
		case err == nil:
			if owns {
				s.deadline.Extend(from, s.r.opts.Lease)
			}
			pause = every
		case errors.Is(err, ErrLeaseLost):
			s.lose(err)
			return
		case ctx.Err() != nil:
			return
		default: // unknown: it may have happened, and will be clear when it works again
			s.r.log.Warn("no sign of life could be given", "relay", s.id, "error", err, "left", s.deadline.Left())
			pause = jitter(every / 8)
			if owns, _ := s.owned(); owns && s.deadline.Over() {
				s.lose(fmt.Errorf("%w: not renewed in time: %w", ErrLeaseLost, err))
				return
			}
		}
	}
}

// renew gives a sign of life. In OrderPerKey the row is the lease of all that the relay owns, and so one statement
// renews all of it.
func (s *session) renew(ctx context.Context, owns bool, token int64) error {
	r := s.r
	lease := r.opts.Lease.Milliseconds()
	beat := beatRelay
	if r.opts.Order == OrderPerKey {
		beat = beatOwner
	}
	return txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
		if owns && r.opts.Order == OrderTotal {
			if err := s.renewLease(ctx, tx, token); err != nil {
				return err
			}
		}
		n, err := rows.Exec(ctx, tx, r.sql.SQL(beat), lease, s.id)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: the relay's row is gone", ErrLeaseLost)
		}
		return err
	})
}

func (s *session) count(ctx context.Context) {
	if err := s.r.report(ctx); err != nil {
		s.r.log.Warn("what was done could not be counted yet", "error", err)
	}
}

// lose ends the session: nothing more is handed over under it.
func (s *session) lose(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost != nil {
		return
	}
	s.lost = err
	close(s.gone)
	if s.owns {
		s.r.log.Warn("lease lost", "relay", s.id, "token", s.token, "error", err)
	}
}

// owned is whether the session owns something, and the token of the lease in OrderTotal.
func (s *session) owned() (owns bool, token int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owns, s.token
}

// own notes that the session owns something since from; token is that of the lease in OrderTotal.
func (s *session) own(token int64, from clocks.Instant) {
	s.deadline.Extend(from, s.r.opts.Lease) // first: who owns is held to it
	s.mu.Lock()
	s.owns, s.token = true, token
	s.mu.Unlock()
}

func (s *session) isLost() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// release ends the session and hands over at once what it owns.
func (s *session) release(ctx context.Context) {
	s.stopBeat()
	s.beating.Wait()
	defer s.gaveAll()
	s.count(ctx)
	defer s.r.sessions.end()
	if s.isLost() {
		return
	}
	err := txn.Run(ctx, s.r.db, s.r.d, func(tx dialect.Tx) error {
		// The row first, as whoever takes over from a fallen relay locks them.
		if _, err := rows.Exec(ctx, tx, s.r.sql.SQL(deleteRelay), s.id); err != nil {
			return err
		}
		_, err := rows.Exec(ctx, tx, s.r.sql.SQL(freeLeases), s.id)
		return err
	})
	if err != nil {
		s.r.log.Warn("what the relay owns could not be given back; it becomes free by itself", "relay", s.id, "error", err)
	}
}

// abandon ends the session without giving anything back: it becomes free when its time is over.
func (s *session) abandon() {
	s.stopBeat()
	s.beating.Wait()
	s.r.sessions.end()
	s.gaveAll()
}
