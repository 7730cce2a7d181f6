package outbox

import (
	"context"
	"fmt"
	"time"
)

// Stats is what an operator wants to know first. The numbers are read one after another, not in one snapshot.
type Stats struct {
	Pending   int64 // not published yet and not put off by Delay: due, in hand, or waiting for its next try
	Due       int64 // of these, due now
	Scheduled int64 // written with a Delay and not yet due
	Dead      int64 // dead letters
	Published int64 // published and kept by Retention
	// OldestPending is the age of the pending event that was written first; 0 when there is none.
	OldestPending time.Duration
	Leases        []Lease
}

// Lease is who works on an outbox in order, by the database's clock.
type Lease struct {
	Name      string        // "total" is the lease of relay.OrderTotal
	Owner     string        // id of the owning relay's session; empty: free
	Host      string        // where the owner runs, as it says itself
	Process   int64         // the owner's process id
	Token     int64         // fencing number: grows with every change of owner
	Age       time.Duration // since the owner got it
	ExpiresIn time.Duration // negative: expired, and not taken over yet
}

// Each is answered from one index alone: the counts from (state, seq) and (state, due_ms), the oldest from the first
// entry of (state, seq) and its row. A count costs in proportion to what it counts, some 50 ms a million.
const (
	countPending   = `SELECT COUNT(*) FROM {events}{use_pending} WHERE state = 0`
	countPublished = `SELECT COUNT(*) FROM {events}{use_pending} WHERE state = 1`
	countDead      = `SELECT COUNT(*) FROM {events}{use_pending} WHERE state = 2`
	countScheduled = `SELECT COUNT(*) FROM {events}{use_pending} WHERE state = 3`
	// The clock comes as a parameter: PostgreSQL uses no index range for a volatile function.
	countDue      = `SELECT COUNT(*) FROM {events}{use_due} WHERE state = 0 AND due_ms <= ?`
	oldestPending = `SELECT created_ms FROM {events} WHERE seq = (SELECT MIN(seq) FROM {events}{use_pending} WHERE state = 0)`
	readClock     = `SELECT {clock}`
	// A handful of rows.
	readLeases = `SELECT l.name, l.owner, COALESCE(r.host, ''), COALESCE(r.process, 0), l.token, l.since_ms, l.until_ms
FROM {leases} l LEFT JOIN {relays} r ON r.id = l.owner ORDER BY l.name`
)

// Stats counts. It takes no lock and costs some 50 ms for each million rows kept.
func (o *Outbox) Stats(ctx context.Context) (Stats, error) {
	now, err := o.Clock(ctx)
	if err != nil {
		return Stats{}, fmt.Errorf("stats: %w", err)
	}
	var s Stats
	var oldest int64
	for _, q := range []struct {
		text string
		args []any
		dest *int64
	}{
		{countPending, nil, &s.Pending},
		{countDue, []any{now.UnixMilli()}, &s.Due},
		{countScheduled, nil, &s.Scheduled},
		{countDead, nil, &s.Dead},
		{countPublished, nil, &s.Published},
		{oldestPending, nil, &oldest},
	} {
		if _, err := queryRow(ctx, o.db, o.sql.SQL(q.text), q.args, q.dest); err != nil {
			return Stats{}, fmt.Errorf("stats: %w", err)
		}
	}
	if oldest > 0 {
		s.OldestPending = max(0, now.Sub(time.UnixMilli(oldest)))
	}
	s.Leases, err = o.leases(ctx, now)
	if err != nil {
		return Stats{}, fmt.Errorf("stats: leases: %w", err)
	}
	return s, nil
}

// Clock is the database's time, to the millisecond. All times of the outbox are by this clock.
func (o *Outbox) Clock(ctx context.Context) (time.Time, error) {
	var ms int64
	if _, err := queryRow(ctx, o.db, o.sql.SQL(readClock), nil, &ms); err != nil {
		return time.Time{}, fmt.Errorf("read clock: %w", err)
	}
	return time.UnixMilli(ms), nil
}

func (o *Outbox) leases(ctx context.Context, now time.Time) ([]Lease, error) {
	rows, err := o.db.QueryContext(ctx, o.sql.SQL(readLeases))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Lease
	for rows.Next() {
		var l Lease
		var since, until int64
		if err := rows.Scan(&l.Name, &l.Owner, &l.Host, &l.Process, &l.Token, &since, &until); err != nil {
			return nil, err
		}
		if l.Owner != "" {
			l.Age, l.ExpiresIn = now.Sub(time.UnixMilli(since)), time.UnixMilli(until).Sub(now)
		}
		out = append(out, l)
	}
	return out, rows.Err()
}
