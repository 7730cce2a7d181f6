package webhook

import (
	"context"
	"database/sql"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// What a subscription misses begins in its row (missed_from) and goes on until it is resumed, updated or refilled. Then it
// becomes a mark among its deliveries, in the place of the first that it misses: of state 3, with the last one in seq and
// their count in attempts. So it is known what was missed, whatever was delivered before and since, and swept.
const (
	// By primary key; behind the lock of the feed's counter nothing more is missed.
	openMissed = `SELECT missed, missed_from FROM {subscriptions} WHERE id = ? AND state <= 2`
	// Of one that is disabled what follows is missed too.
	closeMissed = `UPDATE {subscriptions} SET missed = 0, missed_from = CASE WHEN state = 2 THEN ? ELSE 0 END, version = version + 1
WHERE id = ? AND missed_from > 0`

	insertMissed = `INSERT INTO {webhook_deliveries} (subscription_id, feed_seq, seq, state, attempts, created_ms)
VALUES (?, ?, ?, 3, ?, {clock})`
	// By primary key.
	deleteMissed = `{delete_webhooks} WHERE subscription_id = ? AND feed_seq = ? AND state = 3`

	// By (subscription_id, state, feed_seq); the state is a range as in listDeliveries.
	listMissed = `SELECT feed_seq, seq, attempts FROM {webhook_deliveries}{use_webhooks_order}
WHERE subscription_id = ? AND state > 2 AND state < 4 ORDER BY state, feed_seq`

	// The first entry of the primary key.
	oldestPlace = `SELECT COALESCE((SELECT feed_seq FROM {feed} ORDER BY feed_seq LIMIT 1), ?)`
)

// closeMissed makes a mark of what a subscription has missed up to head. It is called behind the lock of the feed's counter.
func (w *Webhooks) closeMissed(ctx context.Context, tx dialect.Tx, id, head int64) error {
	m := missedRange{to: head}
	if err := rows.One(ctx, tx, w.sql.SQL(openMissed), []any{id}, &m.n, &m.from); err != nil || m.from == 0 {
		return err
	}
	if m.from <= m.to {
		if err := w.markMissed(ctx, tx, id, m); err != nil {
			return err
		}
	}
	_, err := rows.Exec(ctx, tx, w.sql.SQL(closeMissed), head+1, id)
	return err
}

func (w *Webhooks) markMissed(ctx context.Context, tx dialect.Tx, id int64, m missedRange) error {
	_, err := rows.Exec(ctx, tx, w.sql.SQL(insertMissed), id, m.from, m.to, m.n)
	return err
}

func (w *Webhooks) dropMissed(ctx context.Context, tx dialect.Tx, id int64, m missedRange) error {
	_, err := rows.Exec(ctx, tx, w.sql.SQL(deleteMissed), id, m.from)
	return err
}

func (w *Webhooks) missedRanges(ctx context.Context, q rows.Queryer, id int64) (all []missedRange, err error) {
	err = rows.Each(ctx, q, w.sql.SQL(listMissed), []any{id}, func(row *sql.Rows) error {
		var m missedRange
		err := row.Scan(&m.from, &m.to, &m.n)
		all = append(all, m)
		return err
	})
	return all, err
}
