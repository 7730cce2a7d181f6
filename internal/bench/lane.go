package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// lane is the contestant's, or one of the entrant's own if it is to be prepared.
func (r *runner) lane(ctx context.Context, e *Entrant) (*Lane, error) {
	if e.Prepare == nil {
		if l := r.lanes[e.Who.Name]; l != nil {
			return l, nil
		}
	}
	p, err := contest.NewPlace(ctx, r.on)
	if err != nil {
		return nil, err
	}
	s, err := e.Who.Open(ctx, p)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open: %w", err), p.Close())
	}
	l := &Lane{Place: p, System: s, Sizes: r.Sizes, who: e.Who, enough: make(map[drainPlan]int)}
	if e.Prepare == nil {
		r.lanes[e.Who.Name] = l
		return l, nil
	}
	if err := e.Prepare(ctx, l); err != nil {
		l.close()
		return nil, fmt.Errorf("prepare: %w", err)
	}
	return l, nil
}

func (l *Lane) close() {
	_ = l.System.Close()
	_ = l.Place.Close() // what stays is dropped with the engine
}
