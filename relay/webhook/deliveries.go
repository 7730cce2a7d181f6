package webhook

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/fanout"
	"github.com/sqloutbox/sqloutbox/internal/invalid"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// DeliveryState is that of a delivery.
type DeliveryState int

// States of a delivery.
const (
	Pending DeliveryState = fanout.Pending // owed: to be sent, on its way, waiting for its next try, or for the end of a pause
	Done    DeliveryState = fanout.Done
	Dead    DeliveryState = fanout.Dead // given up; Redeliver sends it again
)

// Delivery is what became of an event at one subscription.
type Delivery struct {
	Position  int64  // of the event in the feed
	EventID   string // empty: the event has been purged
	Topic     string
	State     DeliveryState
	Attempts  int // tries that have ended
	CreatedAt time.Time
	Due       time.Time // Pending: not before
	SettledAt time.Time // Done and Dead

	// Of the last try.
	Status int           // zero: no answer came
	Took   time.Duration // to the end of the answer
	Answer string        // its first bytes
	Error  string        // why it was no success
}

// DeliveryQuery says which deliveries to list.
type DeliveryQuery struct {
	State DeliveryState
	After int64 // a position in the feed: only deliveries behind it; for the next page that of the last
	Limit int   // default 100, at most 1,000
}

// By (subscription_id, state, feed_seq), and the event of each by primary key. The state is a range, so that PostgreSQL does
// not take the primary key for shorter.
const listDeliveries = `SELECT d.feed_seq, COALESCE(e.id, ''), COALESCE(e.topic, ''), d.state, d.attempts, d.created_ms, d.due_ms, d.settled_ms,
       d.last_status, d.last_ms, d.last_answer, d.last_error
FROM {webhook_deliveries} d{use_webhooks_order} LEFT JOIN {events} e ON e.seq = d.seq
WHERE d.subscription_id = ? AND d.state > ? AND d.state < ? AND d.feed_seq > ? ORDER BY d.state, d.feed_seq LIMIT ?`

// Deliveries are those of a subscription in one state, in the order of the feed. Errors: ErrUnknownSubscription; outbox.ErrInvalidOptions
// for what can't be a name, or a query out of its bounds.
func (w *Webhooks) Deliveries(ctx context.Context, name string, q DeliveryQuery) ([]Delivery, error) {
	if q.Limit == 0 {
		q.Limit = 100
	}
	if q.Limit < 0 || q.Limit > 1000 || q.State < Pending || q.State > Dead {
		return nil, fmt.Errorf("list deliveries: %w: Limit %d (1 to 1,000), State %d", invalid.ErrOptions, q.Limit, q.State)
	}
	id, err := w.find(ctx, w.o.DB(), name)
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	var out []Delivery
	args := []any{id, int64(q.State) - 1, int64(q.State) + 1, q.After, int64(q.Limit)}
	err = rows.Each(ctx, w.o.DB(), w.sql.SQL(listDeliveries), args, func(row *sql.Rows) error {
		var d Delivery
		var created, due, settled, took int64
		err := row.Scan(&d.Position, &d.EventID, &d.Topic, &d.State, &d.Attempts, &created, &due, &settled, &d.Status, &took, &d.Answer, &d.Error)
		d.CreatedAt, d.SettledAt, d.Took = asTime(created), asTime(settled), time.Duration(took)*time.Millisecond
		if d.State == Pending {
			d.Due = asTime(due)
		}
		out = append(out, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return out, nil
}
