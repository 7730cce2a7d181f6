package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/plaintext"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// HeldKey is a key of relay.OrderPerKey whose events wait behind one of them.
type HeldKey struct {
	Key   string
	Since time.Time // when it was first held for the sake of this event
	// The event that holds it. If several do, which can be after a Requeue, the first of them.
	Seq      int64
	ID       string
	Topic    string
	State    HoldState
	Attempts int // hand-overs since it was written or last requeued
	// LastError is what its last failed hand-over said.
	LastError string
	// NextTry is when a waiting event is due again; zero otherwise.
	NextTry time.Time
}

// HoldState is what has become of an event that holds its key.
type HoldState string

const (
	HoldWaiting HoldState = "waiting" // it failed and waits for its next try
	HoldDead    HoldState = "dead"    // a dead letter, under relay.HoldKey: until Requeue or Discard
	HoldPaused  HoldState = "paused"  // its topic is paused: until Resume
	HoldInHand  HoldState = "in hand" // it is being handed over, and what is behind it is next
	HoldDue     HoldState = "due"     // a relay takes it next
	HoldOver    HoldState = "over"    // it is through, and its key is about to flow
)

// HeldKeyQuery narrows HeldKeys. The zero value means the first 100.
type HeldKeyQuery struct {
	Key   string // this key alone; empty: all
	After int64  // only keys held by an event with a Seq above this one: the last Seq of the page before
	Limit int    // default 100, at most 1000
}

// By primary key in order, with a look in (event_key, seq) whether another event holds the key before this one; a key has
// few. Not written with NOT EXISTS, which PostgreSQL may answer by hashing all of the table for one page.
const (
	heldKeys = `SELECT h.seq, h.event_key, h.since_ms, COALESCE(e.id, ''), COALESCE(e.topic, ''), COALESCE(e.state, 1),
       COALESCE(e.attempts, 0), COALESCE(e.last_error, ''), COALESCE(e.due_ms, 0)
FROM {held} h LEFT JOIN {events} e ON e.seq = h.seq
WHERE h.seq > ? AND h.seq = (SELECT MIN(f.seq) FROM {held} f WHERE f.event_key = h.event_key)`
	heldKey  = ` AND h.event_key = ?`
	heldPage = ` ORDER BY h.seq LIMIT ?`
)

const maxHeldPage = 1000

func (q *HeldKeyQuery) validate() error {
	switch {
	case q.Limit < 0 || q.Limit > maxHeldPage:
		return fmt.Errorf("%w: Limit %d: must be between 0 and %d; use After for the next page", ErrInvalidOptions, q.Limit, maxHeldPage)
	case plaintext.Bad(q.Key, MaxKeyLen) != "":
		return fmt.Errorf("%w: Key %s", ErrInvalidOptions, plaintext.Bad(q.Key, MaxKeyLen))
	}
	return nil
}

// HeldKeys lists the keys that are held, in the order of the events that hold them. For the next page set After to the
// last Seq of this one.
func (o *Outbox) HeldKeys(ctx context.Context, q HeldKeyQuery) ([]HeldKey, error) {
	if err := q.validate(); err != nil {
		return nil, fmt.Errorf("held keys: %w", err)
	}
	if q.Limit == 0 {
		q.Limit = 100
	}
	keys, err := o.heldKeys(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("held keys: %w", err)
	}
	return keys, nil
}

func (o *Outbox) heldKeys(ctx context.Context, query HeldKeyQuery) (keys []HeldKey, err error) {
	q, end, err := o.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	now, err := o.clock(ctx, q)
	if err != nil {
		return nil, err
	}
	alive, err := o.relays(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("relays: %w", err)
	}
	text, args := heldKeys, []any{query.After}
	if query.Key != "" {
		text, args = text+heldKey, append(args, query.Key)
	}
	err = rows.Each(ctx, q, o.sql.SQL(text+heldPage), append(args, int64(query.Limit)), func(row *sql.Rows) error {
		var k HeldKey
		var since, state, due int64
		if err := row.Scan(&k.Seq, &k.Key, &since, &k.ID, &k.Topic, &state, &k.Attempts, &k.LastError, &due); err != nil {
			return err
		}
		k.Since = time.UnixMilli(since)
		inHand := slices.ContainsFunc(alive, func(r livingRelay) bool { return slices.Contains(r.hand, k.Seq) })
		k.State = holdState(state, inHand, due > now.UnixMilli())
		if k.State == HoldWaiting {
			k.NextTry = time.UnixMilli(due)
		}
		keys = append(keys, k)
		return nil
	})
	return keys, err
}

// holdState is what an event's state means for its key.
func holdState(state int64, inHand, later bool) HoldState {
	switch {
	case state == 1:
		return HoldOver
	case state == 2:
		return HoldDead
	case state == 6:
		return HoldPaused
	case inHand:
		return HoldInHand
	case later && state != 4: // of a held event due_ms is not a time
		return HoldWaiting
	default:
		return HoldDue
	}
}
