package relay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// A relay that runs has a row of its own: who it is, its last sign of life, and what it has in hand. The row is also
// the fence: whoever takes over from a relay deletes its row in the same transaction, and every outcome is written
// together with a change of the row that names its id, token and version. A late owner changes nothing.
const (
	insertRelay = `INSERT INTO {relays} (id, host, process, order_name, since_ms, seen_ms, until_ms)
VALUES (?, ?, ?, ?, {clock}, {clock}, {clock} + ?)`

	// By primary key.
	beatRelay   = `UPDATE {relays} SET seen_ms = {clock}, until_ms = {clock} + ? WHERE id = ?`
	deleteRelay = `DELETE FROM {relays} WHERE id = ?`

	// A handful of rows, read without a lock and deleted by primary key. The row of a dead owner is left to whoever
	// takes over its lease, for what it had in hand.
	deadRelays = `SELECT id FROM {relays} WHERE until_ms < {clock} - ? AND order_name <> 'crash'
AND id NOT IN (SELECT owner FROM {leases})`
	deleteDead = `DELETE FROM {relays} WHERE id = ? AND until_ms < {clock} - ? AND in_hand = ''`
)

// session is one life of a relay's row.
type session struct {
	r        *Relay
	id       string
	deadline deadline // of what it owns
	stopBeat context.CancelFunc
	beating  sync.WaitGroup

	mu    sync.Mutex // guards what follows
	token int64      // of the lease it owns; 0: none
	lost  error      // why it can't go on
	gone  chan struct{}

	// Used by the relay's loop alone.
	mayOwn  bool          // taking the lease has an unknown outcome
	version int64         // of the row
	noted   inHand        // what is in hand, as the row says
	noting  inHand        // what the transaction under way says
	unknown *turn         // whose commit has an unknown outcome
	probed  time.Duration // when the last probe was, by r.now().mono
	claims  int64         // claims made so far
}

// register makes the row and keeps it alive until close.
func (r *Relay) register(ctx context.Context) (*session, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("register relay: %w", err)
	}
	s := &session{r: r, id: id.String(), gone: make(chan struct{})}
	s.deadline.now = r.now
	first, cancel := r.bounded(context.WithoutCancel(ctx)) // as with the lease
	defer cancel()
	_, err = r.exec(first, insertRelay, s.id, r.host, int64(os.Getpid()), r.opts.Order.String(), r.opts.Lease.Milliseconds())
	if err != nil {
		return nil, fmt.Errorf("register relay: %w", err)
	}
	beatCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopBeat = stop
	s.beating.Go(func() { s.beat(beatCtx) })
	return s, nil
}

// exec runs one statement by itself.
func (r *Relay) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	var n int64
	err := txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
		var err error
		n, err = execTx(ctx, tx, r.sql.SQL(statement), args...)
		return err
	})
	return n, err
}

func execTx(ctx context.Context, tx dialect.Execer, text string, args ...any) (int64, error) {
	res, err := tx.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
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
		token := s.ownedToken()
		err := s.renew(beatCtx, token)
		cancel()
		switch {
		case err == nil:
			if token != 0 {
				s.deadline.extend(from, s.r.opts.Lease)
			}
			pause = every
		case errors.Is(err, ErrLeaseLost):
			s.lose(err)
			return
		case ctx.Err() != nil:
			return
		default: // unknown: it may have happened, and will be clear when it works again
			s.r.log.Warn("no sign of life could be given", "relay", s.id, "error", err, "left", s.deadline.left())
			pause = jitter(every / 8)
			if s.deadline.over() && s.ownedToken() != 0 {
				s.lose(fmt.Errorf("%w: not renewed in time: %w", ErrLeaseLost, err))
				return
			}
		}
	}
}

func (s *session) renew(ctx context.Context, token int64) error {
	lease := s.r.opts.Lease.Milliseconds()
	return txn.Run(ctx, s.r.db, s.r.d, func(tx dialect.Tx) error {
		if token != 0 {
			if err := s.renewLease(ctx, tx, token); err != nil {
				return err
			}
		}
		n, err := execTx(ctx, tx, s.r.sql.SQL(beatRelay), lease, s.id)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: the relay's row is gone", ErrLeaseLost)
		}
		return err
	})
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
	if s.token != 0 {
		s.r.log.Warn("lease lost", "lease", totalLease, "token", s.token, "error", err)
	}
}

func (s *session) ownedToken() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// own notes that the session owns the lease under token.
func (s *session) own(token int64, from instant) {
	s.deadline.extend(from, s.r.opts.Lease) // first: the token makes the keeper look at it
	s.mu.Lock()
	s.token = token
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

// close stops the signs of life and takes the row away, unless the session is lost or keep is set.
func (s *session) close(ctx context.Context, keep bool) {
	s.stopBeat()
	s.beating.Wait()
	if keep || s.isLost() {
		return
	}
	if _, err := s.r.exec(ctx, deleteRelay, s.id); err != nil {
		s.r.log.Warn("the relay's row could not be taken away; it goes when its time is over", "relay", s.id, "error", err)
	}
}
