package relay

import (
	"context"
	"database/sql"
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

// rivals are all of them.
type rivals []rival

func (all rivals) Error() string { return all[0].Error() }
func (all rivals) Unwrap() error { return all[0] }

// register makes the session's row and keeps it alive until close. A relay of another order that gives signs of life
// is an error; those that give none are waited for until their leases are over, since they may have been killed.
func (r *Relay) register(ctx context.Context) (*session, error) {
	first := make(map[string]int64) // when each rival was seen first
	for {
		s, err := r.tryRegister(ctx)
		var all rivals
		if !errors.As(err, &all) {
			return s, err
		}
		wait := jitter(r.opts.Poll)
		for _, v := range all {
			if seen, ok := first[v.id]; ok && seen != v.seen {
				return nil, fmt.Errorf("register relay: %w", v)
			}
			first[v.id] = v.seen
			wait = min(wait, time.Duration(max(v.ms, 1))*time.Millisecond)
		}
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
	var all rivals
	err := rows.Each(ctx, tx, r.sql.SQL(otherOrder), []any{order}, func(row *sql.Rows) error {
		var v rival
		err := row.Scan(&v.id, &v.host, &v.process, &v.order, &v.seen, &v.ms)
		all = append(all, v)
		return err
	})
	if err != nil {
		return err
	}
	if len(all) > 0 {
		return all
	}
	_, err = rows.Exec(ctx, tx, r.sql.SQL(insertRelay), s.id, r.host, int64(os.Getpid()), order, r.opts.Lease.Milliseconds())
	return err
}
