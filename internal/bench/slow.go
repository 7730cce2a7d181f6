package bench

import (
	"context"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// How fast a backlog is handed to a publisher that takes a millisecond, as a broker or another service would. The drain
// without a wait, with the same settings, is beside it.
func slowScenarios() []Scenario {
	return []Scenario{{
		Name: "slow", Title: "Draining where a publish takes 1 ms", Metric: "rate", Unit: "events/s",
		Entrants: func(engine string, s Sizes) []Entrant {
			slow := func(ctx context.Context, l *Lane) (Values, error) {
				return drainAll(ctx, l, drainPlan{n: s.Slow, size: s.Payload, work: s.Work,
					tuning: contest.Tuning{Concurrency: s.Concurrency}})
			}
			return entrants(engine, slow)
		},
	}, {
		Name: "keys", Title: "Draining where a publish takes 1 ms, by the number of keys", Metric: "rate", Unit: "events/s",
		Entrants: func(engine string, s Sizes) []Entrant {
			var all []Entrant
			for _, keys := range []int{1, 10, 100, 1000} {
				for _, e := range chosen(engine, nil, named(perKey)) {
					e.Label, e.Series, e.X = join(e.Who.Name, keys, "keys"), e.Who.Name, float64(keys)
					e.Round = func(ctx context.Context, l *Lane) (Values, error) {
						return drainAll(ctx, l, drainPlan{n: s.Slow, size: s.Payload, keys: keys, work: s.Work,
							tuning: contest.Tuning{Concurrency: s.Concurrency}})
					}
					all = append(all, e)
				}
			}
			return all
		},
	}}
}
