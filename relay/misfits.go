package relay

import (
	"context"
)

// By (state, seq, partition_no). A writer of plain SQL may put any number there.
const misfits = `SELECT seq FROM {events}{use_pending} WHERE state <= 0 AND (partition_no < -1 OR partition_no > 63)
ORDER BY state, seq LIMIT ?{lock_skip}`

// fit gives rows whose partition is none of ours the one that means "not set yet".
func (s *keySource) fit(ctx context.Context) error {
	return s.r.inSteps(ctx, misfits, nil, setPartition, int64(-1))
}
