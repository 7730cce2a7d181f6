package webhook

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/fanout"
	"github.com/sqloutbox/sqloutbox/internal/feedno"
	"github.com/sqloutbox/sqloutbox/internal/invalid"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/outbox"
)

const (
	// By primary key: the row that purge holds. Where the feed begins by then is read in the next statement.
	lockPurge = `SELECT value FROM {counters} WHERE name = '` + feedno.Epoch + `'{lock}`
	// By primary key, locked so that two refills take turns.
	lockTopics = `SELECT topics FROM {subscriptions} WHERE id = ? AND state <= 2{lock}`
	// By the feed's primary key, and each event by its own. What has been purged is not there.
	published = `SELECT f.feed_seq, e.seq, e.topic
FROM {feed} f JOIN {events} e ON e.seq = f.seq
WHERE f.feed_seq >= ? AND f.feed_seq <= ?
ORDER BY f.feed_seq
LIMIT ?`
	// By primary key, in its order: of a list some planners make a filter, and read all that is there of the subscription. The state is
	// computed, so that none takes an index that begins with it.
	delivered = `SELECT feed_seq
FROM {webhook_deliveries}
WHERE subscription_id = ? AND feed_seq >= ? AND feed_seq <= ? AND state + 0 <= 2
ORDER BY feed_seq
LIMIT ?`
)

// refillRows is how many events a step looks at, and how many deliveries; so many become due a second.
const refillRows = 500

// refill is a call of Refill or RefillRange under way.
type refill struct {
	hold
	from, to int64
	total    int
	gone     *outbox.GoneError
}

func (w *Webhooks) newRefill(ctx context.Context, name string, from, to int64) (*refill, error) {
	r := &refill{from: from, to: to}
	if err := checkName(name); err != nil {
		return r, err
	}
	if from < 1 || to < from {
		return r, fmt.Errorf("%w: positions %d to %d: the first is 1", invalid.ErrOptions, from, to)
	}
	return r, w.change(ctx, func(tx dialect.Tx, head int64) error {
		r.to = min(to, head)
		id, err := w.find(ctx, tx, name)
		if err != nil {
			return err
		}
		r.hold = w.newHold(id, "refill")
		return w.closeMissed(ctx, tx, id, head)
	})
}

// result ends a call: what was made is sent from here on.
func (r *refill) result(ctx context.Context, err error) (int, error) {
	if freed := r.free(ctx); err == nil {
		err = freed
	}
	if r.total > 0 {
		r.w.Wake()
	}
	if err == nil && r.gone != nil {
		err = r.gone
	}
	if err != nil {
		err = fmt.Errorf("refill: %w", err)
	}
	return r.total, err
}

// begin begins a step: it keeps purge and other refills off until tx ends, and answers what the subscription wants, and up to
// where the feed is purged.
//
// Each statement sees what was committed before it. So a purge between the one that asks where the feed begins and the one that
// reads it would take events away that the first says are kept: nothing would be made of them, and their mark would be gone. With
// the lock they say the same. Purge comes before the step, which then says ErrGone, or after it, and finds that the events are owed.
func (r *refill) begin(ctx context.Context, tx dialect.Tx) (patterns []string, purged outbox.Cursor, err error) {
	if err := rows.One(ctx, tx, r.w.sql.SQL(lockPurge), nil, &purged.Epoch); err != nil {
		return nil, purged, fmt.Errorf("keep purge off: %w", err)
	}
	var text []byte
	if err := rows.One(ctx, tx, r.w.sql.SQL(lockTopics), []any{r.id}, &text); err != nil {
		if isNone(err) {
			err = ErrUnknownSubscription
		}
		return nil, purged, err
	}
	if patterns, err = fanout.DecodeTopics(text); err != nil {
		return nil, purged, err
	}
	purged, err = r.purged(ctx, tx)
	return patterns, purged, err
}

// purged is the position behind which what is kept of the feed begins.
func (r *refill) purged(ctx context.Context, tx dialect.Tx) (c outbox.Cursor, err error) {
	s, _, err := feedno.Read(ctx, tx, r.w.sql)
	if err != nil {
		return c, err
	}
	c.Epoch = s.Epoch
	err = rows.One(ctx, tx, r.w.sql.SQL(oldestPlace), []any{s.Head + 1}, &c.Seq)
	c.Seq--
	return c, err
}

// deliver makes deliveries between two positions, as many as a step takes, in the place of marks that are there: what is left of those
// stands on both sides. It answers the lowest position that it made one of, or 0, and up to where it came.
func (r *refill) deliver(ctx context.Context, tx dialect.Tx, patterns []string, marks []missedRange, from, to int64) (made int, lowest, last int64, err error) {
	wanted, last, err := r.wanted(ctx, tx, patterns, from, to)
	if err != nil {
		return 0, 0, 0, err
	}
	for _, m := range marks {
		asked := m.within(from, last)
		if asked.empty() {
			continue
		}
		n := int64(0)
		for _, e := range wanted {
			if e.FeedSeq >= asked.from && e.FeedSeq <= asked.to {
				n++
			}
		}
		before, behind := m.without(asked.from, asked.to, n)
		if err := r.replace(ctx, tx, m, before, behind); err != nil { // it stands in the place of a delivery
			return 0, 0, 0, err
		}
	}
	if len(wanted) > 0 {
		lowest = wanted[0].FeedSeq
	}
	wait := int64(r.total/refillRows) * 1000
	return len(wanted), lowest, last, fanout.Insert(ctx, tx, r.w.sql, fanout.Rows(r.id, wanted, wait))
}

// wanted are events between two positions that the subscription wants and has no delivery of, of as many as a step looks at, and up to
// where it looked.
func (r *refill) wanted(ctx context.Context, tx dialect.Tx, patterns []string, from, to int64) (wanted []fanout.Event, last int64, err error) {
	n := 0
	err = rows.Each(ctx, tx, r.w.sql.SQL(published), []any{from, to, int64(refillRows)}, func(row *sql.Rows) error {
		var e fanout.Event
		err := row.Scan(&e.FeedSeq, &e.Seq, &e.Topic)
		n, last = n+1, e.FeedSeq
		if fanout.Match(patterns, e.Topic) {
			wanted = append(wanted, e)
		}
		return err
	})
	if n < refillRows {
		last = to
	}
	if err != nil || len(wanted) == 0 {
		return nil, last, err
	}
	there, err := rows.Int64s(ctx, tx, r.w.sql.SQL(delivered), r.id, wanted[0].FeedSeq, last, int64(refillRows))
	if len(there) == refillRows { // of events that were put back, and have left the feed
		last = there[len(there)-1]
	}
	return slices.DeleteFunc(wanted, func(e fanout.Event) bool {
		_, has := slices.BinarySearch(there, e.FeedSeq)
		return has || e.FeedSeq > last
	}), last, err
}
