package outbox

import (
	"context"
	"database/sql"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/feedno"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

const (
	// The clock, and the head of the feed where there is one. By primary key.
	purgeBegins = `SELECT {clock}, COALESCE((SELECT value FROM {counters} WHERE name = '` + feedno.Counter + `'), -1)`

	// A handful of rows.
	lowestReader = `SELECT COALESCE(MIN(feed_seq), -1) FROM {cursors} WHERE hold_ms > 0 AND seen_ms + hold_ms > {clock} AND epoch = ?`

	// A look at the lowest pending delivery of each subscription, by (subscription_id, state, feed_seq). Those of one that has
	// not been active for longer than its hold, and dead ones, are not waited for. The whole index is the order: PostgreSQL
	// would take the primary key for shorter, and MySQL would sort.
	lowestOwed = `SELECT COALESCE(MIN((
         SELECT feed_seq FROM {webhook_deliveries}{use_webhooks_order} WHERE subscription_id = id AND state <= 0
          ORDER BY subscription_id, state, feed_seq LIMIT 1
       )), -1)
FROM {subscriptions} WHERE state = 0 OR (state <= 2 AND since_ms + hold_ms > {clock})`

	// By primary key, from its beginning: numbers are in the order of publication.
	feedBegins = `SELECT feed_seq, seq, published_ms FROM {feed} WHERE feed_seq <= ? ORDER BY feed_seq LIMIT ?`
	purgeFeed  = `{delete_feed} WHERE feed_seq <= ?`

	// By primary key. A relay may just be putting some of them back.
	stillPublished = `SELECT seq FROM {events}{use_key} WHERE seq IN ({list}) AND state = 1{lock}`

	// By primary key. A dead letter that was published before is in the feed: discarded, it is what it was.
	publishedAgain = `{update_events} SET state = 1, due_ms = {clock}, settled_ms = {clock}, claimed_by = ''
WHERE seq IN ({list}) AND state = 2`
)

// purge deletes from the beginning of the feed what was published before a time, up to the first reader that is waited
// for, and the events with it. An event that was put back stays, and keeps its number; it is no longer in the feed. kept is
// the lowest number that is left.
func (f *Feed) purge(ctx context.Context, before int64) (total int, kept int64, err error) {
	total, err = f.o.inSteps(ctx, func(tx dialect.Tx, limit int) (found, deleted int, err error) {
		s, err := f.lock(ctx, tx)
		if err != nil {
			return 0, 0, err
		}
		floor, err := f.floor(ctx, tx, s)
		if err != nil {
			return 0, 0, err
		}
		seqs, last, err := f.old(ctx, tx, floor, before, limit)
		if err != nil || len(seqs) == 0 {
			kept, err = f.keptFrom(ctx, tx, s, err)
			return 0, 0, err
		}
		if _, err := rows.Exec(ctx, tx, f.o.sql.SQL(purgeFeed), last); err != nil {
			return 0, 0, err
		}
		kept = last + 1
		deleted, err = f.o.deletePublished(ctx, tx, seqs)
		return len(seqs), deleted, err
	})
	return total, kept, err
}

func (f *Feed) keptFrom(ctx context.Context, tx dialect.Tx, s feedno.State, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return f.first(ctx, tx, s)
}

// floor is the highest number that may be purged: that of the reader furthest behind, or before the first event that a
// webhook is owed.
func (f *Feed) floor(ctx context.Context, tx dialect.Tx, s feedno.State) (int64, error) {
	var reader, owed int64
	if err := rows.One(ctx, tx, f.o.sql.SQL(lowestReader), []any{s.Epoch}, &reader); err != nil {
		return 0, err
	}
	if err := rows.One(ctx, tx, f.o.sql.SQL(lowestOwed), nil, &owed); err != nil {
		return 0, err
	}
	floor := s.Head
	if reader >= 0 {
		floor = min(floor, reader)
	}
	if owed >= 0 {
		floor = min(floor, owed-1)
	}
	return floor, nil
}

// old are the events at the beginning of the feed that were published before a time, and the number of the last.
func (f *Feed) old(ctx context.Context, tx dialect.Tx, floor, before int64, limit int) (seqs []int64, last int64, err error) {
	young := false
	err = rows.Each(ctx, tx, f.o.sql.SQL(feedBegins), []any{floor, int64(limit)}, func(row *sql.Rows) error {
		var number, seq, published int64
		err := row.Scan(&number, &seq, &published)
		if young = young || published >= before; !young {
			seqs, last = append(seqs, seq), number
		}
		return err
	})
	return seqs, last, err
}

// deletePublished deletes those of the events that are published, with their records in handlers.
func (o *Outbox) deletePublished(ctx context.Context, tx dialect.Tx, seqs []int64) (int, error) {
	text, args := o.sql.ListOf(stillPublished, seqs, nil, nil)
	there, err := rows.Int64s(ctx, tx, text, args...)
	if err != nil || len(there) == 0 {
		return 0, err
	}
	_, n, err := o.dropPublished(ctx, tx, there)
	return n, err
}

// dropDead deletes dead letters that are locked, with their records in handlers. Those that are in the feed become published
// again.
func (o *Outbox) dropDead(ctx context.Context, tx dialect.Tx, dead seqNumbers) (int, error) {
	again, gone := dead.where(func(number int64) bool { return number > 0 }), dead.below(1)
	n, err := o.changeSeqs(ctx, tx, publishedAgain, again)
	if err == nil {
		err = o.forget(ctx, tx, change{records: forgetFailed}, again)
	}
	if err != nil {
		return 0, err
	}
	m, err := o.changeSeqs(ctx, tx, discardSeqs, gone)
	if err == nil {
		err = o.forget(ctx, tx, change{records: delivery.Forget}, gone)
	}
	return n + m, err
}
