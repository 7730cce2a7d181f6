package webhook

import (
	"context"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// A request is begun only if the subscription was what it was claimed for half a second ago: freshFor after it was seen, and
// lookFor after a look at it began. A second is what the docs promise. What this process has changed is looked for at once.
const (
	freshFor = 500 * time.Millisecond
	lookFor  = 500 * time.Millisecond
)

// sight is what was seen of a subscription.
type sight struct {
	version int64 // -1: it is gone
	changes int64 // of Webhooks, before it was looked at
	at      clocks.Instant
}

// lookAt begins a sight.
func (w *Webhooks) lookAt() sight { return sight{changes: w.changes.Load(), at: w.now()} }

// current reports whether the subscription is what it was claimed for. Most often the lane's last turn has seen it.
func (l *lane) current(ctx context.Context, c *claim) (bool, error) {
	s := l.seen.Load()
	if s == nil || s.changes != l.w.changes.Load() || l.w.now().Since(s.at) > freshFor {
		var err error
		if s, err = l.lookAgain(ctx); err != nil {
			return false, err
		}
	}
	return s.version == c.to.version, nil
}

func (l *lane) lookAgain(ctx context.Context) (*sight, error) {
	if err := l.w.takeRead(ctx); err != nil {
		return nil, err
	}
	defer l.w.giveRead()
	s := l.w.lookAt()
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	err := rows.One(ctx, l.w.o.DB(), l.w.sql.SQL(readVersion), []any{l.id}, &s.version)
	if isNone(err) {
		s.version, err = -1, nil
	}
	if err != nil {
		return nil, err
	}
	l.seen.Store(&s)
	return &s, nil
}

// takeRead waits until one of manyReads is free.
func (w *Webhooks) takeRead(ctx context.Context) error {
	select {
	case w.reads <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *Webhooks) giveRead() { <-w.reads }
