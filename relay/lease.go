package relay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// The lease row is locked first and the clock read in the next statement: both PostgreSQL and MySQL take the time of a
// statement before it waits for a lock, so that one statement could write an expiry that is already over.
const (
	lookLease = `SELECT owner, token, until_ms, lease_ms, {clock} FROM {leases} WHERE name = ?`
	lockLease = `SELECT owner, token, until_ms, lease_ms FROM {leases} WHERE name = ?{lock}`
	takeLease = `UPDATE {leases} SET owner = ?, token = token + 1, since_ms = {clock}, until_ms = {clock} + ?, lease_ms = ?,
       version = version + 1
WHERE name = ?`
	// Renewal after expiry fails, even when nobody has taken the lease: the owner has stopped by then.
	extendLease = `UPDATE {leases} SET until_ms = {clock} + ?, version = version + 1
WHERE name = ? AND owner = ? AND token = ? AND until_ms > {clock}`

	lockRelay = `SELECT in_hand FROM {relays} WHERE id = ?{lock}`
	// A row that has become the row of a crash, under the same id, is nobody's own.
	lockOwn   = `SELECT in_hand, version FROM {relays} WHERE id = ? AND ` + owners.NoCrash + `{lock}`
	takeRelay = `UPDATE {relays} SET token = ?, in_hand = '', version = version + 1 WHERE id = ?`
	readClock = `SELECT {clock}`
)

// leaseRow is the lease as read; times are ms by the database's clock.
type leaseRow struct {
	owner                     string
	token, until, length, now int64
}

// free reports whether it may be taken: nobody's, over, or further ahead than a whole lease, which only a clock that
// was set back can leave behind.
func (l *leaseRow) free() bool {
	return l.owner == "" || l.until <= l.now || l.until > l.now+l.length
}

func (l *leaseRow) left() time.Duration { return time.Duration(l.until-l.now) * time.Millisecond }

// acquire tries to make the session the owner of the lease. Without an error and without a token the lease is
// another's, for as long as left says.
func (s *session) acquire(ctx context.Context) (left time.Duration, err error) {
	r := s.r
	// Not cut off by the end of the relay: a COMMIT that had happened all the same would leave the lease to nobody.
	ctx, cancel := r.bounded(context.WithoutCancel(ctx))
	defer cancel()
	row, err := r.lookLease(ctx, owners.Total)
	if err != nil {
		return 0, fmt.Errorf("look at lease: %w", err)
	}
	if !row.free() && row.owner != s.id {
		return row.left(), nil
	}
	from := r.now()
	var won int64
	var buried []ended
	err = txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
		won, buried = 0, nil
		row, err := r.readLocked(ctx, tx, owners.Total)
		if err != nil {
			return err
		}
		if row.owner == s.id && row.until > row.now { // an earlier try whose commit had an unknown outcome
			won = row.token // and from here on by this request's clock
			if err := s.extendOwn(ctx, tx, won); err != nil {
				return err
			}
			return s.readRow(ctx, tx)
		}
		if !row.free() {
			left = row.left()
			return nil
		}
		won = row.token + 1
		buried, err = s.takeOver(ctx, tx, row)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("take lease: %w", err)
	}
	if won == 0 {
		return left, nil
	}
	s.own(won, from)
	r.tell(buried)
	r.log.Info("lease won", "lease", owners.Total, "token", won, "relay", s.id)
	s.won(owners.Total, won)
	return 0, nil
}

func (r *Relay) lookLease(ctx context.Context, name string) (*leaseRow, error) {
	var l leaseRow
	err := rows.One(ctx, r.db, r.sql.SQL(lookLease), []any{name}, &l.owner, &l.token, &l.until, &l.length, &l.now)
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return &l, err
	}
	if _, err := r.exec(ctx, owners.InsertLease, name); err != nil {
		return nil, err
	}
	return &leaseRow{}, nil
}

func (r *Relay) readLocked(ctx context.Context, tx dialect.Tx, name string) (*leaseRow, error) {
	var l leaseRow
	if err := rows.One(ctx, tx, r.sql.SQL(lockLease), []any{name}, &l.owner, &l.token, &l.until, &l.length); err != nil {
		return nil, err
	}
	return &l, rows.One(ctx, tx, r.sql.SQL(readClock), nil, &l.now)
}

// lockRelay locks a relay's row, or that of a crash, and answers its note.
func (r *Relay) lockRelay(ctx context.Context, tx dialect.Tx, id string) (note string, there bool, err error) {
	err = rows.One(ctx, tx, r.sql.SQL(lockRelay), []any{id}, &note)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	return note, err == nil, err
}

// lockRow reads the session's own row under a lock.
func (s *session) lockRow(ctx context.Context, tx dialect.Tx) (hand string, version int64, err error) {
	err = rows.One(ctx, tx, s.r.sql.SQL(lockOwn), []any{s.id}, &hand, &version)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w: the relay's row is gone", ErrLeaseLost)
	}
	return hand, version, err
}

// readRow takes over what the session's own row says.
func (s *session) readRow(ctx context.Context, tx dialect.Tx) error {
	text, version, err := s.lockRow(ctx, tx)
	if err != nil {
		return err
	}
	s.version = version
	s.noted, err = decodeInHand(text)
	return err
}

// takeOver makes the session the owner. The former owner is fenced in the same transaction. buried is the culprit of
// its crash, if that has used up its attempts.
func (s *session) takeOver(ctx context.Context, tx dialect.Tx, row *leaseRow) (buried []ended, err error) {
	r := s.r
	if row.owner != "" && row.owner != s.id {
		if buried, err = r.inherit(ctx, tx, row.owner); err != nil {
			return nil, err
		}
	}
	if err := s.readRow(ctx, tx); err != nil {
		return nil, err
	}
	if _, err := rows.Exec(ctx, tx, r.sql.SQL(takeRelay), row.token+1, s.id); err != nil {
		return nil, err
	}
	s.noted, s.version = inHand{}, s.version+1
	lease := r.opts.Lease.Milliseconds()
	_, err = rows.Exec(ctx, tx, r.sql.SQL(takeLease), s.id, lease, lease, owners.Total)
	return buried, err
}

func (s *session) renewLease(ctx context.Context, tx dialect.Tx, token int64) error {
	if _, err := s.r.readLocked(ctx, tx, owners.Total); err != nil {
		return err
	}
	return s.extendOwn(ctx, tx, token)
}

// extendOwn is for an owner that has locked the lease.
func (s *session) extendOwn(ctx context.Context, tx dialect.Tx, token int64) error {
	n, err := rows.Exec(ctx, tx, s.r.sql.SQL(extendLease), s.r.opts.Lease.Milliseconds(), owners.Total, s.id, token)
	if err == nil && n == 0 {
		err = ErrLeaseLost
	}
	return err
}
