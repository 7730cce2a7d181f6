package outbox

import (
	"context"
	"database/sql"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

const (
	// A page of what a pause has put aside, by (state, seq). Which of it goes back is decided here and not by the engine,
	// so that one statement never reads more than a page, however much stays paused.
	pausedPage = `SELECT seq, topic FROM {events}{use_pending} WHERE state = 6 AND seq > ? ORDER BY seq LIMIT ?`

	// By primary key. Its place and its due time are as they were.
	putBack = `{update_events} SET state = 0 WHERE seq IN ({list}) AND state = 6`
)

// putBack makes events pending that were put aside and whose topic is no longer paused.
func (o *Outbox) putBack(ctx context.Context) error {
	for after := int64(0); ; {
		pauses, err := o.pauses(ctx, o.db) // may have changed since the last page
		if err != nil || allPaused(pauses) {
			return err
		}
		read, last, seqs, err := o.resumable(ctx, after, pauses)
		if err != nil {
			return err
		}
		after = last
		if len(seqs) > 0 {
			err = txn.Run(ctx, o.db, o.dialect, func(tx dialect.Tx) error {
				_, err := o.changeSeqs(ctx, tx, putBack, seqs)
				return err
			})
		}
		if err != nil || read < stepRows {
			return err
		}
		if err := letOthersIn(ctx); err != nil {
			return err
		}
	}
}

// resumable are the seqs of the page after a seq that may go back; read is how many rows the page has, last its last.
func (o *Outbox) resumable(ctx context.Context, after int64, pauses []Pause) (read int, last int64, seqs []int64, err error) {
	q, end, err := o.reading(ctx)
	if err != nil {
		return 0, 0, nil, err
	}
	defer end()
	last = after
	err = rows.Each(ctx, q, o.sql.SQL(pausedPage), []any{after, int64(stepRows)}, func(row *sql.Rows) error {
		var topic string
		if err := row.Scan(&last, &topic); err != nil {
			return err
		}
		read++
		if !isPaused(pauses, topic) {
			seqs = append(seqs, last)
		}
		return nil
	})
	return read, last, seqs, err
}
