package outbox

import (
	"context"
	"database/sql"
	"math"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/inhand"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/topics"
)

// What remembers events by their seq, though they may be purged: a new event that got such a number would be taken for the
// one before. A copy of the tables has all of it, and may not have the numbering.
const (
	// The ends of primary keys, and that of the feed's unique seq.
	highestSeq = `SELECT MAX(n) FROM (
SELECT COALESCE(MAX(seq), 0) AS n FROM {feed} UNION ALL
SELECT COALESCE(MAX(seq), 0) FROM {held} UNION ALL
SELECT COALESCE(MAX(seq), 0) FROM {deliveries}) remembered`

	// A handful of rows each.
	handlersBegin    = `SELECT from_seq, replayed_to, topics FROM {handlers}`
	notesInHand      = `SELECT in_hand FROM {relays} WHERE in_hand <> ''`
	allSubscriptions = `SELECT id FROM {subscriptions}`

	// By primary key, from its end. Deliveries have no index by seq, and are nearly in its order; a worker compares the number
	// besides, so that it can't send another event.
	lastDelivered = `SELECT COALESCE(MAX(seq), 0) FROM (
       SELECT seq FROM {webhook_deliveries} WHERE subscription_id = ? ORDER BY feed_seq DESC LIMIT 1000
       ) d`
)

// seqBehind answers the statement that mends the numbering, or "". What is remembered is read first: it was numbered before.
func (o *Outbox) seqBehind(ctx context.Context) (mend string, err error) {
	below, ok := o.dialect.(dialect.SeqBelower)
	if !ok {
		return o.dialect.SeqBehind(ctx, o.db, o.Table("events"))
	}
	floor, err := o.remembered(ctx)
	if err != nil {
		return "", err
	}
	return below.SeqBelow(ctx, o.db, o.Table("events"), floor)
}

// remembered is the highest seq that stands in a table, but for that of the events.
func (o *Outbox) remembered(ctx context.Context) (top int64, err error) {
	if err := rows.One(ctx, o.db, o.sql.SQL(highestSeq), nil, &top); err != nil {
		return 0, err
	}
	err = rows.Each(ctx, o.db, o.sql.SQL(handlersBegin), nil, func(row *sql.Rows) error {
		var from, replayed int64
		var text []byte
		if err := row.Scan(&from, &replayed, &text); err != nil {
			return err
		}
		if top = max(top, from-1); replayed != math.MaxInt64 { // all is replayed
			top = max(top, replayed)
		}
		set, _ := topics.Decode(text) // a relay says what can't be read
		for _, p := range set {
			top = max(top, p.From-1)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	notes, err := rows.Column[string](ctx, o.db, o.sql.SQL(notesInHand))
	if err != nil {
		return 0, err
	}
	for _, text := range notes {
		note, _ := inhand.Decode(text) // as above
		for _, seq := range note.Seqs() {
			top = max(top, seq)
		}
	}
	subscriptions, err := rows.Int64s(ctx, o.db, o.sql.SQL(allSubscriptions))
	if err != nil {
		return 0, err
	}
	for _, id := range subscriptions {
		var last int64
		if err := rows.One(ctx, o.db, o.sql.SQL(lastDelivered), []any{id}, &last); err != nil {
			return 0, err
		}
		top = max(top, last)
	}
	return top, nil
}
