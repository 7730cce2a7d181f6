package relay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// Relays register one after another, behind the lock of one row, so that two of different orders can't both find the
// outbox free.
const (
	insertRelay = `INSERT INTO {relays} (id, host, process, order_name, since_ms, seen_ms, until_ms)
VALUES (?, ?, ?, ?, {clock}, {clock}, {clock} + ?)`

	// A handful of rows.
	otherOrder = `SELECT id, host, process, order_name, seen_ms, until_ms - {clock} FROM {relays}
WHERE ` + owners.NoCrash + ` AND order_name <> ? ORDER BY id`
)

// rival is a relay that works in another order.
type rival struct {
	id, host, order   string
	process, seen, ms int64 // ms until its time is over
}

func (v rival) Error() string {
	return fmt.Sprintf("%v: relay %s (host %s, process %d) runs in order %q; stop it first, or use the same order",
		ErrOrder, v.id, v.host, v.process, v.order)
}

func (v rival) Unwrap() error { return ErrOrder }

// register makes the session's row and keeps it alive until close. A relay of another order that gives signs of life
// is an error; one that gives none is waited for until its lease is over, since it may have been killed.
func (r *Relay) register(ctx context.Context) (*session, error) {
	first := make(map[string]int64) // when each rival was seen first
	for {
		s, err := r.tryRegister(ctx)
		var v rival
		if !errors.As(err, &v) {
			return s, err
		}
		if seen, ok := first[v.id]; ok && seen != v.seen {
			return nil, err
		}
		first[v.id] = v.seen
		wait := min(jitter(r.opts.Poll), time.Duration(max(v.ms, 1))*time.Millisecond)
		if clocks.Sleep(ctx, wait); ctx.Err() != nil {
			return nil, err
		}
	}
}

func (r *Relay) tryRegister(ctx context.Context) (*session, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("register relay: %w", err)
	}
	s := &session{r: r, id: id.String(), gone: make(chan struct{})}
	s.look = s.probeNow
	s.rest = func(ctx context.Context, d time.Duration) { r.waitFor(ctx, s, d, false) }
	s.deadline.Now = r.now
	// Not cut off by the end of the relay: a row that was made all the same would be nobody's.
	first, cancel := r.bounded(context.WithoutCancel(ctx))
	defer cancel()
	if err := r.removeFallen(first); err != nil {
		return nil, fmt.Errorf("register relay: look for fallen ones: %w", err)
	}
	if _, err := r.exec(first, owners.InsertLease, owners.OrderLock); err != nil {
		return nil, fmt.Errorf("register relay: %w", err)
	}
	s.registered = r.now()
	r.sessions.begin(s.id)
	err = txn.Run(first, r.db, r.d, func(tx dialect.Tx) error { return s.insert(first, tx) })
	if txn.IsUnknown(err) {
		r.unconfirmed = append(r.unconfirmed, s.id)
	}
	if err != nil {
		return nil, fmt.Errorf("register relay: %w", err)
	}
	r.unconfirmed = nil
	beatCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stopBeat = stop
	s.beating.Go(func() { s.beat(beatCtx) })
	return s, nil
}

func (s *session) insert(ctx context.Context, tx dialect.Tx) error {
	r := s.r
	if err := owners.LockOrder(ctx, tx, r.sql); err != nil {
		return err
	}
	if err := r.startFeed(ctx, tx); err != nil {
		return err
	}
	for _, id := range r.unconfirmed { // an earlier try, which may have happened all the same
		if _, err := rows.Exec(ctx, tx, r.sql.SQL(deleteRelay), id); err != nil {
			return err
		}
	}
	order := r.opts.Order.String()
	others, err := tx.QueryContext(ctx, r.sql.SQL(otherOrder), order)
	if err != nil {
		return err
	}
	defer others.Close()
	if others.Next() {
		var v rival
		if err := others.Scan(&v.id, &v.host, &v.process, &v.order, &v.seen, &v.ms); err != nil {
			return err
		}
		return v
	}
	if err := errors.Join(others.Err(), others.Close()); err != nil {
		return err
	}
	_, err = rows.Exec(ctx, tx, r.sql.SQL(insertRelay), s.id, r.host, int64(os.Getpid()), order, r.opts.Lease.Milliseconds())
	return err
}
