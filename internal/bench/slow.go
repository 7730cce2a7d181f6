package bench

import (
	"context"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// noWait is what the label of an entrant ends with whose publishes take no time.
const noWait = ", no wait"

// How fast a backlog is handed to a publisher that takes a millisecond, as a broker or another service would. The drain
// without a wait, with the same settings, is beside it.
func slowScenarios() []Scenario {
	return []Scenario{{
		Name: "slow", Title: "Draining where a publish takes 1 ms", Metric: "rate", Unit: "events/s",
		Entrants: func(engine string, s Sizes) []Entrant {
			with := func(work time.Duration) func(context.Context, *Lane) (Values, error) {
				return func(ctx context.Context, l *Lane) (Values, error) {
					return drainAll(ctx, l, drainPlan{n: s.Slow, size: s.Payload, work: work, limit: s.SlowLimit,
						tuning: contest.Tuning{Concurrency: s.Concurrency}})
				}
			}
			all := waiting(engine, with(s.Work))
			for _, e := range chosen(engine, with(0), named(perKey, none)) {
				e.Label = e.Who.Name + noWait
				all = append(all, e)
			}
			return all
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
