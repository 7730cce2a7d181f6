package relay

import (
	"context"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// By (state, seq, partition_no), all that is pending. A writer of plain SQL may put any number there. It locks nothing: for a
// lock InnoDB reads the whole row, with its payload, of each entry that it passes.
const (
	misfits = `SELECT seq FROM {events}{use_pending} WHERE state <= 0 AND (partition_no < -1 OR partition_no > 63)
ORDER BY state, seq LIMIT ?`
	// By primary key.
	lockMisfits = `SELECT seq FROM {events}{use_key} WHERE seq IN ({list}) AND state = 0 AND (partition_no < -1 OR partition_no > 63){lock_skip}`
)

// fit gives rows whose partition is none of ours the one that means "not set yet", but for those that are locked just now.
func (s *keySource) fit(ctx context.Context) error {
	for {
		var found, free []int64
		err := txn.Run(ctx, s.r.db, s.r.d, func(tx dialect.Tx) (err error) {
			if found, err = rows.Int64s(ctx, tx, s.r.sql.SQL(misfits), int64(stepRows)); err != nil || len(found) == 0 {
				return err
			}
			text, args := s.r.listArgs(lockMisfits, found, nil, nil)
			if free, err = rows.Int64s(ctx, tx, text, args...); err != nil || len(free) == 0 {
				return err
			}
			return s.r.execListAfter(ctx, tx, setPartition, free, int64(-1))
		})
		if err != nil || len(found) < stepRows || len(free) == 0 {
			return err
		}
	}
}
