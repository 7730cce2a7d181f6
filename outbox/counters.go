package outbox

import (
	"context"
	"database/sql"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/tally"
)

// By primary key.
const readCounters = `SELECT name, value, at_ms FROM {counters}
WHERE name IN ('` + tally.Drained + `', '` + tally.Refused + `', '` + tally.Resumed + `')`

// counters are the numbers that outlive the relays that count them.
type counters struct {
	drained time.Time // when an outcome was last recorded; zero: never
	resumed time.Time // when a pause last ended; zero: never
	refused int64
}

func (o *Outbox) counters(ctx context.Context, q rows.Queryer) (c counters, err error) {
	err = rows.Each(ctx, q, o.sql.SQL(readCounters), nil, func(row *sql.Rows) error {
		var name string
		var value, at int64
		if err := row.Scan(&name, &value, &at); err != nil {
			return err
		}
		switch {
		case name == tally.Refused:
			c.refused = value
		case name == tally.Drained && at != 0:
			c.drained = time.UnixMilli(at)
		case name == tally.Resumed && at != 0:
			c.resumed = time.UnixMilli(at)
		}
		return nil
	})
	return c, err
}
