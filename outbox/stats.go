package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// Stats is what an operator wants to know first. The numbers are read one after another, not in one snapshot.
//
// Due is what Lag and Health look at too, but for topics that are paused: an event whose delay or backoff is over is due,
// though no relay has met it yet.
type Stats struct {
	Pending   int64 // not published yet, and neither put off by Delay nor put aside by Pause: the next three together
	Due       int64 // may be handed over now, or is in hand in an ordered relay
	Waiting   int64 // failed and waits for its next try, or is in hand in relay.OrderNone
	Held      int64 // relay.OrderPerKey: waits behind another event of its key
	HeldKeys  int64 // keys that an event holds at this moment; see Outbox.HeldKeys
	Paused    int64 // put aside since its topic is paused; an event that no relay has met since the pause is Pending
	Scheduled int64 // written with a Delay and not yet due
	Dead      int64 // dead letters
	Published int64 // published and kept by Retention
	// Refused counts, since the tables were made, the outcomes that a relay came to record when it no longer owned what it
	// had in hand. Each such event is handed over again.
	Refused int64
	// LastOutcome is when a relay last recorded that a hand-over had ended, well or not; zero: never. It is written with
	// the relay's signs of life, and so comes up to a third of its lease late.
	LastOutcome time.Time
	// OldestPending is for how long the pending event has waited that has waited for longest: since it was written, or its
	// delay was over, or Requeue put it back. Failures don't begin it anew, while Lag and Health count from when the next try
	// was due; but once an event has failed, or is held, a delay that it had counts too. What relay.OrderNone has in hand counts
	// once it has failed, or its claim is over. 0 when nothing else is pending, or while everything is paused.
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

// Each is answered from one index alone. PostgreSQL goes by it in a transaction of the library's only; see reading.
const (
	countPending   = `SELECT COUNT(*) FROM {events}{use_pending} WHERE state = 0`
	countPublished = `SELECT COUNT(*) FROM {events}{use_pending} WHERE state = 1`
	countDead      = `SELECT COUNT(*) FROM {events}{use_pending} WHERE state = 2`
	countHeld      = `SELECT COUNT(*) FROM {events}{use_pending} WHERE state = 4`
	countWaiting   = `SELECT COUNT(*) FROM {events}{use_pending} WHERE state = 5`
	countPaused    = `SELECT COUNT(*) FROM {events}{use_pending} WHERE state = 6`
	// The clock comes as a parameter: PostgreSQL uses no index range for a volatile function.
	countDue      = `SELECT COUNT(*) FROM {events}{use_due} WHERE state = 0 AND due_ms <= ?`
	countRetrying = `SELECT COUNT(*) FROM {events}{use_due} WHERE state = 5 AND due_ms <= ?`
	// A scheduled event stays so until a relay looks.
	countOverdue   = `SELECT COUNT(*) FROM {events}{use_due} WHERE state = 3 AND due_ms <= ?`
	countScheduled = `SELECT COUNT(*) FROM {events}{use_due} WHERE state = 3 AND due_ms > ?`

	// The first entry of (state, due_ms, seq) and its row: what was due first, as long as nothing has moved its due_ms.
	firstDue     = `SELECT ` + ageColumns + ` FROM {events}{use_due} WHERE state = 0 AND due_ms <= ? ORDER BY due_ms, seq LIMIT 1`
	firstOverdue = `SELECT ` + ageColumns + ` FROM {events}{use_due} WHERE state = 3 AND due_ms <= ? ORDER BY due_ms, seq LIMIT 1`
	// The first entry of (state, seq) and its row, but for what is in hand in OrderNone and never failed; there is no state
	// below 0. Ordered by seq alone, or asked for MIN(seq), PostgreSQL walks the primary key instead, past all that is
	// published, to the first row whose state is 0. It does so too where a state is given as a constant, which it then leaves
	// out of the order; MariaDB sorts where it sees through BETWEEN 4 AND 4.
	oldestPending = `SELECT ` + ageColumns + ` FROM {events}{use_pending}
WHERE state <= 0 AND (claimed_by = '' OR first_failed_ms > 0) ORDER BY state, seq LIMIT 1`
	oldestHeld    = `SELECT ` + ageColumns + ` FROM {events}{use_pending} WHERE state > 3 AND state < 5 ORDER BY state, seq LIMIT 1`
	oldestWaiting = `SELECT ` + ageColumns + ` FROM {events}{use_pending} WHERE state > 4 AND state < 6 ORDER BY state, seq LIMIT 1`
	ageColumns    = `state, created_ms, due_ms, first_failed_ms, total_attempts - attempts,
       CASE WHEN claim_token > 0 OR last_error <> '' THEN 1 ELSE 0 END`
	// A row for each event that failed and was not given up, or is dead and holds its key; by (event_key, seq).
	countHeldKeys = `SELECT COUNT(DISTINCT event_key) FROM {held}`
	// A handful of rows, but for the partitions of OrderPerKey, which Relays tells of, and a row that is only a lock.
	readLeases = `SELECT l.name, l.owner, COALESCE(r.host, ''), COALESCE(r.process, 0), l.token, l.since_ms, l.until_ms
FROM {leases} l LEFT JOIN {relays} r ON r.id = l.owner
WHERE l.name NOT LIKE '` + owners.Partition + `%' AND l.name <> '` + owners.OrderLock + `' ORDER BY l.name`
)

// Stats counts, and takes no lock. The counts are exact and read from an index each, so that they cost what there is to
// count, which is mostly what Retention keeps: for a million events some 0.1 s on SQLite and PostgreSQL, 0.2 s on MySQL
// and 0.3 s on MariaDB, when they are in memory. On PostgreSQL it is up to 0.7 s while most of them have changed since
// the last VACUUM, since it looks at each such row then. OldestPending is five looks at the ends of indexes, whatever is kept,
// but one of them passes what OrderNone has in hand. (BenchmarkStats.)
func (o *Outbox) Stats(ctx context.Context) (Stats, error) {
	s, err := o.stats(ctx)
	if err != nil {
		return Stats{}, fmt.Errorf("stats: %w", err)
	}
	return s, nil
}

func (o *Outbox) stats(ctx context.Context) (Stats, error) {
	q, end, err := o.reading(ctx)
	if err != nil {
		return Stats{}, err
	}
	defer end()
	now, err := o.clock(ctx, q)
	if err != nil {
		return Stats{}, err
	}
	pauses, err := o.pauses(ctx, q)
	if err != nil {
		return Stats{}, fmt.Errorf("pauses: %w", err)
	}
	var s Stats
	if err := o.count(ctx, q, now, &s); err != nil {
		return Stats{}, err
	}
	if !allPaused(pauses) {
		if s.OldestPending, err = o.oldestPending(ctx, q, now); err != nil {
			return Stats{}, fmt.Errorf("oldest pending: %w", err)
		}
	}
	c, err := o.counters(ctx, q)
	if err != nil {
		return Stats{}, fmt.Errorf("counters: %w", err)
	}
	s.Refused, s.LastOutcome = c.refused, c.drained
	s.Leases, err = o.leases(ctx, q, now)
	if err != nil {
		return Stats{}, fmt.Errorf("leases: %w", err)
	}
	return s, nil
}

func (o *Outbox) count(ctx context.Context, q rows.Queryer, now time.Time, s *Stats) error {
	var pending, due, waiting, retrying, overdue int64 // states 0 and 5: all, and due; state 3: due
	at := []any{now.UnixMilli()}
	for _, n := range []struct {
		text string
		args []any
		dest *int64
	}{
		{countPending, nil, &pending},
		{countDue, at, &due},
		{countWaiting, nil, &waiting},
		{countRetrying, at, &retrying},
		{countOverdue, at, &overdue},
		{countHeld, nil, &s.Held},
		{countHeldKeys, nil, &s.HeldKeys},
		{countPaused, nil, &s.Paused},
		{countScheduled, at, &s.Scheduled},
		{countDead, nil, &s.Dead},
		{countPublished, nil, &s.Published},
	} {
		if err := rows.One(ctx, q, o.sql.SQL(n.text), n.args, n.dest); err != nil {
			return err
		}
	}
	s.Pending = pending + waiting + overdue + s.Held
	s.Due = due + retrying + overdue
	s.Waiting = max(0, pending+waiting-due-retrying) // an event may have become due between two counts
	return nil
}

// oldestPending is for how long the one has waited that has waited for longest, 0 if there is none.
func (o *Outbox) oldestPending(ctx context.Context, q rows.Queryer, now time.Time) (age time.Duration, err error) {
	at := []any{now.UnixMilli()}
	for _, look := range []struct {
		text string
		args []any
	}{{firstDue, at}, {firstOverdue, at}, {oldestPending, nil}, {oldestHeld, nil}, {oldestWaiting, nil}} {
		var r aged
		err := rows.One(ctx, q, o.sql.SQL(look.text), look.args, &r.state, &r.created, &r.due, &r.firstFailed, &r.before, &r.tried)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return 0, err
		}
		age = max(age, now.Sub(time.UnixMilli(r.since(now.UnixMilli()))))
	}
	return age, nil
}

// aged is what an event's row says of its age, in ms.
type aged struct {
	state, created, due, firstFailed int64
	before                           int64 // attempts before it was requeued
	tried                            int64 // 1: a relay in OrderNone had claimed it, or it was put off with a reason
}

// since is when an event began to wait. due_ms says so until it is moved, by a failure, a claim, a destination that is away or the
// number of a group.
func (r aged) since(now int64) int64 {
	moved := r.state > 3 || r.firstFailed > 0 || r.state == 0 && (r.due > now || r.tried > 0)
	switch {
	case !moved:
		return max(r.created, r.due)
	case r.before == 0:
		return r.created
	case r.firstFailed > 0:
		return r.firstFailed
	case r.state == 0 && r.due <= now: // requeued, or put off since
		return max(r.created, r.due)
	}
	return now // nothing tells since when
}

func (o *Outbox) leases(ctx context.Context, q rows.Queryer, now time.Time) (out []Lease, err error) {
	err = rows.Each(ctx, q, o.sql.SQL(readLeases), nil, func(row *sql.Rows) error {
		var l Lease
		var since, until int64
		if err := row.Scan(&l.Name, &l.Owner, &l.Host, &l.Process, &l.Token, &since, &until); err != nil {
			return err
		}
		if l.Owner != "" {
			l.Age, l.ExpiresIn = now.Sub(time.UnixMilli(since)), time.UnixMilli(until).Sub(now)
		}
		out = append(out, l)
		return nil
	})
	return out, err
}
