package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sqloutbox/sqloutbox/internal/sqltext"
	"github.com/sqloutbox/sqloutbox/relay"
)

const (
	pending   = 0
	published = 1
	dead      = 2
	scheduled = 3
	behind    = 4 // another event of its key, in order per key
	waiting   = 5 // for its next try, in order per key
	paused    = 6
)

// record is a row of the events table, but for what the event carries.
type record struct {
	seq, state, due, settled, attempts, total, firstFailed int64
	id, topic, lastError, claimedBy                        string
}

const readRecords = `SELECT seq, state, due_ms, settled_ms, attempts, total_attempts, first_failed_ms, id, topic, last_error, claimed_by
FROM {events} ORDER BY seq`

func records(ctx context.Context, db *sql.DB, r *sqltext.Renderer) ([]record, error) {
	rows, err := db.QueryContext(ctx, r.SQL(readRecords))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []record
	for rows.Next() {
		var x record
		err := rows.Scan(&x.seq, &x.state, &x.due, &x.settled, &x.attempts, &x.total, &x.firstFailed, &x.id, &x.topic, &x.lastError, &x.claimedBy)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, rows.Err()
}

func (t *env) records() []record {
	t.Helper()
	all, err := records(t.ctx(), t.db, t.sql)
	if err != nil {
		t.Fatalf("read the events: %v", err)
	}
	return all
}

// record is the row of one event.
func (t *env) record(id string) record {
	t.Helper()
	for _, x := range t.records() {
		if x.id == id {
			return x
		}
	}
	t.Fatalf("event %q is not in the table", id)
	return record{}
}

// checkTables looks for rows that no history could have left behind. It runs when everything has ended.
func (s *space) checkTables(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), s.h.Patience)
	defer cancel()
	all, err := records(ctx, s.db, s.sql)
	if err != nil {
		t.Fatalf("table check: read the events: %v", err)
	}
	seen := map[string]bool{}
	for _, x := range all {
		if fault := x.fault(); fault != "" {
			t.Errorf("table check: event %q (seq %d): %s: %+v", x.id, x.seq, fault, x)
		}
		if seen[x.id] {
			t.Errorf("table check: id %q is there twice", x.id)
		}
		seen[x.id] = true
	}
	for fault, text := range relayFaults {
		var n int64
		if err := s.db.QueryRowContext(ctx, s.sql.SQL(text)).Scan(&n); err != nil {
			t.Fatalf("table check: %v", err)
		}
		if n != 0 {
			t.Errorf("table check: %d rows: %s", n, fault)
		}
	}
}

func (x record) fault() string {
	settled := x.state == published || x.state == dead
	switch {
	case x.state < pending || x.state > paused:
		return "no such state"
	case x.id == "" || x.topic == "":
		return "an empty id or topic"
	case x.attempts < 0 || x.attempts > x.total:
		return "attempts must be between 0 and total_attempts"
	case settled != (x.settled != 0):
		return "settled_ms must be set if and only if it is settled"
	case settled && max(x.due-x.settled, x.settled-x.due) > 1000: // a clock may be read twice in a statement
		return "due_ms of a settled event must be when it was settled"
	case (settled || x.state == scheduled) && x.claimedBy != "":
		return "claimed, but not to be handed over"
	case x.state == dead && x.firstFailed == 0:
		return "dead, and never failed"
	case x.state == scheduled && x.attempts != 0:
		return "scheduled, but tried already"
	case x.state == waiting && (x.attempts == 0 || x.firstFailed == 0) && x.lastError == "":
		return "waits for its next try, and neither failed nor was put off"
	case x.attempts == 0 && !settled && x.firstFailed != 0:
		return "failed, but never tried"
	case !utf8.ValidString(x.lastError) || strings.ContainsRune(x.lastError, 0) || len(x.lastError) > 2000:
		return "last_error is not clean"
	case x.state != behind && x.due > time.Now().Add(20*365*24*time.Hour).UnixMilli():
		return "due_ms is out of reason"
	}
	return ""
}

// relayFaults count rows by what is wrong with them.
var relayFaults = map[string]string{
	"a lease that is not over belongs to a relay without a row": `SELECT COUNT(*) FROM {leases}
WHERE owner <> '' AND until_ms > {clock} AND owner NOT IN (SELECT id FROM {relays})`,
	"a relay without a lease has something in hand": `SELECT COUNT(*) FROM {relays}
WHERE in_hand <> '' AND order_name <> 'crash' AND id NOT IN (SELECT owner FROM {leases})`,
	"a lease was owned under no token": `SELECT COUNT(*) FROM {leases} WHERE owner <> '' AND token < 1`,
	"a relay's token is above its lease's": `SELECT COUNT(*) FROM {relays}
WHERE token > (SELECT COALESCE(MAX(token), 0) FROM {leases})`,
	"an event is behind no holder of its key": `SELECT COUNT(*) FROM {events} e WHERE e.state = 4
AND NOT EXISTS (SELECT 1 FROM {held} h WHERE h.event_key = e.event_key AND h.seq < e.seq)`,
	"an event waits, and does not hold its key": `SELECT COUNT(*) FROM {events} e WHERE e.state = 5 AND e.event_key <> ''
AND NOT EXISTS (SELECT 1 FROM {held} h WHERE h.seq = e.seq)`,
	"a partition's owner has no row": `SELECT COUNT(*) FROM {leases} l WHERE l.owner <> '' AND l.name LIKE 'key/%'
AND NOT EXISTS (SELECT 1 FROM {relays} r WHERE r.id = l.owner AND r.order_name <> 'crash')`,
	"a handler's record is of no event": `SELECT COUNT(*) FROM {deliveries} d
WHERE NOT EXISTS (SELECT 1 FROM {events} e WHERE e.seq = d.seq)`,
	"an event in the feed is missing, or has another number": `SELECT COUNT(*) FROM {feed} f
WHERE NOT EXISTS (SELECT 1 FROM {events} e WHERE e.seq = f.seq AND e.feed_seq = f.feed_seq)`,
	"numbers are missing in the feed": `SELECT COALESCE(MAX(feed_seq) - MIN(feed_seq) + 1 - COUNT(*), 0) FROM {feed}`,
	"a number is beyond the head of the feed, or the head beyond the numbers": `SELECT COUNT(*) FROM {counters}
WHERE name = 'feed' AND value <> (SELECT COALESCE(MAX(feed_seq), value) FROM {feed})`,
	"a handler's record says that it is running": `SELECT COUNT(*) FROM {deliveries} d WHERE d.state = 5`,
}

// tried is the state of an event that failed and waits for its next try.
func tried(order relay.Order) int64 {
	if order == relay.OrderPerKey {
		return waiting
	}
	return pending
}

// describe is a short list of records for a failure's text.
func describe(all []record) string {
	var b strings.Builder
	for _, x := range all {
		fmt.Fprintf(&b, "\n  seq %d %q state %d attempts %d/%d claimed %q error %.60q", x.seq, x.id, x.state, x.attempts, x.total, x.claimedBy, x.lastError)
	}
	return b.String()
}
