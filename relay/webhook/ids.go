package webhook

import (
	"context"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// An id is never given again, so that what is late for a subscription that was deleted finds nobody: outcomes, sweeps, claims.
// The last one that was given is a row of the counters table, made with the first.
const (
	// By primary key.
	insertIDs = `INSERT INTO {counters} (name) VALUES ('subscription_id'){ignore_name}`
	takeID    = `UPDATE {counters} SET value = value + 1, at_ms = {clock} WHERE name = 'subscription_id'`
	raiseIDs  = `UPDATE {counters} SET value = ? WHERE name = 'subscription_id'`
	// By primary key, and the last entries of two others: a counter that was restored from before is behind them.
	takenID = `SELECT value, COALESCE((SELECT id FROM {subscriptions} ORDER BY id DESC LIMIT 1), 0),
       COALESCE((SELECT subscription_id FROM {webhook_deliveries} ORDER BY subscription_id DESC, feed_seq DESC LIMIT 1), 0)
FROM {counters} WHERE name = 'subscription_id'`
)

// nextID is behind the lock of the feed's counter, so that two never get the same.
func (w *Webhooks) nextID(ctx context.Context, tx dialect.Tx) (int64, error) {
	n, err := rows.Exec(ctx, tx, w.sql.SQL(takeID))
	if err == nil && n == 0 {
		if _, err = rows.Exec(ctx, tx, w.sql.SQL(insertIDs)); err == nil {
			_, err = rows.Exec(ctx, tx, w.sql.SQL(takeID))
		}
	}
	var id, subscribed, delivered int64
	if err == nil {
		err = rows.One(ctx, tx, w.sql.SQL(takenID), nil, &id, &subscribed, &delivered)
	}
	if taken := max(subscribed, delivered); err == nil && taken >= id {
		id = taken + 1
		_, err = rows.Exec(ctx, tx, w.sql.SQL(raiseIDs), id)
	}
	if err != nil {
		return 0, fmt.Errorf("take an id: %w", err)
	}
	return id, nil
}
