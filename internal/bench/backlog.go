package bench

import (
	"context"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// Whether a large backlog slows draining down: as many events are drained from the head of a small table and of larger
// ones, which are filled up again between the rounds.
func backlogScenarios() []Scenario {
	return []Scenario{{
		Name: "backlog", Title: "Draining the head of a backlog, by its size", Metric: "rate", Unit: "events/s", Times: 3,
		Entrants: func(engine string, s Sizes) []Entrant {
			var all []Entrant
			for _, size := range s.Backlog {
				for _, e := range chosen(engine, nil, named(total, perKey, none, bareRead)) {
					e.Label, e.Series, e.X = join(e.Who.Name, size, "pending"), e.Who.Name, float64(size)
					e.Prepare = func(ctx context.Context, l *Lane) error {
						l.next = size - s.Backlog[0]
						return fill(ctx, l, 0, l.next, s.Payload, 0)
					}
					e.Round = head
					all = append(all, e)
				}
			}
			return all
		},
	}}
}

// head adds as many as the small table holds, and drains as many.
func head(ctx context.Context, l *Lane) (Values, error) {
	n := l.Sizes.Backlog[0]
	if err := fill(ctx, l, l.next, n, l.Sizes.Payload, 0); err != nil {
		return nil, err
	}
	l.next += n
	before, err := l.System.Left(ctx)
	if err != nil {
		return nil, err
	}
	v, err := drained(ctx, l, &contest.Sink{Want: l.next, Until: n}, contest.Tuning{})
	if err != nil {
		return nil, err
	}
	return v, check(ctx, l, before, v)
}
