package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"

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
	handlersBegin = `SELECT from_seq, replayed_to, topics FROM {handlers}`
	notesInHand   = `SELECT in_hand FROM {relays} WHERE in_hand <> ''`

	// The last delivery of each subscription, however many there are (3,000: 5 to 30 ms): one look each at the end of its part of
	// the primary key. Ordered by feed_seq alone, MySQL sorts all that a subscription has (1.5 s).
	lastDelivered = `SELECT s.id, COALESCE((SELECT d.seq FROM {webhook_deliveries} d WHERE d.subscription_id = s.id
                     ORDER BY d.subscription_id DESC, d.feed_seq DESC LIMIT 1), 0)
FROM {subscriptions} s`

	// By primary key, from its end.
	latelyDelivered = `SELECT COALESCE(MAX(seq), 0) FROM (
       SELECT seq FROM {webhook_deliveries} WHERE subscription_id = ? ORDER BY feed_seq DESC LIMIT 1000
       ) d`
)

// closeLooks is of how many subscriptions more is looked at than their last delivery.
const closeLooks = 16

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
	delivered, err := o.delivered(ctx)
	return max(top, delivered), err
}

// delivered is the highest seq that deliveries remember. They have no index by it, and are nearly in its order: so the last one of
// each subscription is looked at, and of those that have come furthest the last thousand. A worker compares the number besides,
// so that it can't send another event.
func (o *Outbox) delivered(ctx context.Context) (top int64, err error) {
	type last struct{ id, seq int64 }
	var all []last
	err = rows.Each(ctx, o.db, o.sql.SQL(lastDelivered), nil, func(row *sql.Rows) error {
		var l last
		err := row.Scan(&l.id, &l.seq)
		all = append(all, l)
		return err
	})
	if err != nil {
		return 0, err
	}
	slices.SortFunc(all, func(a, b last) int { return cmp.Compare(b.seq, a.seq) }) // the first has the highest of all
	for _, l := range all[:min(len(all), closeLooks)] {
		var late int64
		if err := rows.One(ctx, o.db, o.sql.SQL(latelyDelivered), []any{l.id}, &late); err != nil {
			return 0, err
		}
		top = max(top, late)
	}
	return top, nil
}
