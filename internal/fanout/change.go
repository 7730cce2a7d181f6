package fanout

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/feedno"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
	"github.com/sqloutbox/sqloutbox/internal/tally"
)

// By primary key.
const lockFeed = `SELECT value FROM {counters} WHERE name = '` + feedno.Counter + `'{lock}`

// Change begins a change of subscriptions: from here to the end of tx no event gets a number. It answers the last number. It
// turns the feed on, if it isn't yet: what makes deliveries is a number.
func Change(ctx context.Context, tx dialect.Tx, r *sqltext.Renderer) (head int64, err error) {
	err = rows.One(ctx, tx, r.SQL(lockFeed), nil, &head)
	if errors.Is(err, sql.ErrNoRows) {
		if err := feedno.TurnOn(ctx, tx, r); err != nil {
			return 0, err
		}
		err = rows.One(ctx, tx, r.SQL(lockFeed), nil, &head)
	}
	if err != nil {
		return 0, fmt.Errorf("lock the feed: %w", err)
	}
	return head, tally.Add(ctx, tx, r, feedno.Subscriptions, 1)
}
