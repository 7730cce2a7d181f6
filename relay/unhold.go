package relay

import (
	"context"
	"fmt"
)

// OrderTotal and OrderNone know nothing of held keys: all that OrderPerKey has put aside becomes pending again when they
// start. No relay of OrderPerKey works then.
const (
	// By (state, seq, partition_no).
	behindAny  = `SELECT seq FROM {events}{use_pending} WHERE state > 3 AND state < 5 ORDER BY state, seq LIMIT ?{lock_skip}`
	waitingAny = `SELECT seq FROM {events}{use_pending} WHERE state > 4 AND state < 6 ORDER BY state, seq LIMIT ?{lock_skip}`
	// By primary key.
	heldAny  = `SELECT seq FROM {held} ORDER BY seq LIMIT ?`
	dropHeld = `DELETE FROM {held} WHERE seq IN ({list})`
)

func (r *Relay) unhold(ctx context.Context) error {
	for _, step := range []struct{ find, change string }{
		{behindAny, letGoList},
		{waitingAny, retry}, // due when it was to be tried again
		{heldAny, dropHeld},
	} {
		if err := r.inSteps(ctx, step.find, step.change); err != nil {
			return fmt.Errorf("free held keys: %w", err)
		}
	}
	return nil
}
