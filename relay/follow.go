package relay

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// standBy waits as a follower: until the owner's lease would end, but looking now and then whether it was given back.
func (r *Relay) standBy(ctx context.Context, s *session, left time.Duration) {
	r.waitFor(ctx, s, min(left+time.Millisecond, jitter(r.opts.PollMax)), false)
}

// nothingDue reports whether the owner has nothing more to hand on for now.
func (s *session) nothingDue(ctx context.Context) (bool, error) {
	saw, err := s.probeNow(ctx)
	if err != nil || !saw.due() {
		return !saw.due(), err
	}
	var first, attempts, due, now int64
	err = rows.One(ctx, s.r.db, s.r.sql.SQL(firstPending), nil, &first, &attempts, &due, &now)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case attempts > 0 && due > now: // it has failed, and all behind it waits for it
		return true, nil
	case s.r.opts.OnDead == SkipDead:
		return false, nil
	}
	dead, err := s.r.firstDead(ctx, s.r.db)
	return dead < first && err == nil, err
}
