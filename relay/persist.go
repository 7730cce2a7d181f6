package relay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// persist tries a turn again and again, until it is known what happened. When ctx ends or the session is lost it is
// tried once more, so that outcomes which come too late are refused by the database rather than given up; ErrLeaseLost
// either way, unless it is unknown whether they were recorded.
func (r *Relay) persist(ctx context.Context, s *session, t *turn, try func(context.Context) error) error {
	pause := 5 * time.Millisecond
	for last := false; ; {
		err := try(ctx)
		if err == nil || errors.Is(err, ErrLeaseLost) {
			return err
		}
		r.log.Warn("outcomes could not be recorded yet", "events", len(t.ended), "error", err)
		switch {
		case last && s.isLost() && !txn.IsUnknown(err):
			return fmt.Errorf("%w before outcomes could be recorded: %w", ErrLeaseLost, err)
		case last:
			return fmt.Errorf("settle: %w", err)
		}
		select {
		case <-ctx.Done():
			last = true
		case <-s.gone:
			last = true
		case <-time.After(jitter(pause)):
			pause = min(2*pause, time.Second)
		}
		if last {
			fresh, cancel := r.bounded(context.WithoutCancel(ctx))
			defer cancel()
			ctx = fresh
		}
	}
}
