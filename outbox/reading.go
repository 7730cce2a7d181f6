package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/rows"
)

const readClock = `SELECT {clock}`

// reading is what an operator's numbers are read through, until end is called. An engine without index hints has its
// planner settings in dialect.Begin: without them PostgreSQL reads all of the table to count what is published.
// Elsewhere there is no transaction, least of all where it would be the one writer's (SQLite).
func (o *Outbox) reading(ctx context.Context) (q rows.Queryer, end func(), err error) {
	hints := o.dialect.IndexHint("i") != ""
	oneWriter := o.dialect.Lock() == ""
	if hints || oneWriter {
		return o.db, func() {}, nil
	}
	tx, err := o.dialect.Begin(ctx, o.db)
	if err != nil {
		return nil, nil, fmt.Errorf("begin: %w", err)
	}
	return tx, func() { _ = tx.Rollback() }, nil // nothing was written
}

// Clock is the database's time, to the millisecond. All times of the outbox are by this clock.
func (o *Outbox) Clock(ctx context.Context) (time.Time, error) { return o.clock(ctx, o.db) }

func (o *Outbox) clock(ctx context.Context, q rows.Queryer) (time.Time, error) {
	var ms int64
	if err := rows.One(ctx, q, o.sql.SQL(readClock), nil, &ms); err != nil {
		return time.Time{}, fmt.Errorf("read clock: %w", err)
	}
	return time.UnixMilli(ms), nil
}
