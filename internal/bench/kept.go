package bench

import (
	"context"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// Whether rows that are not due are in the way of those that are: published ones that are kept, and scheduled ones.
func keptScenarios() []Scenario {
	one := func(name, title, what string, sizes func(Sizes) []int, as contest.Kept) Scenario {
		return Scenario{
			Name: name, Title: title, Metric: "rate", Unit: "events/s", Times: 3,
			Entrants: func(engine string, s Sizes) []Entrant {
				var all []Entrant
				for _, rows := range sizes(s) {
					for _, e := range chosen(engine, nil, named(total, perKey, none)) {
						e.Label, e.Series, e.X = join(e.Who.Name, rows, what), e.Who.Name, float64(rows)
						e.Prepare = func(ctx context.Context, l *Lane) error {
							return l.System.(contest.Keeper).Keep(ctx, rows, as)
						}
						e.Round = head
						all = append(all, e)
					}
				}
				return all
			},
		}
	}
	return []Scenario{
		one("kept", "Draining beside published rows that are kept, by their number", "kept",
			func(s Sizes) []int { return s.Kept }, contest.Published),
		one("scheduled", "Draining beside rows scheduled for later, by their number", "scheduled",
			func(s Sizes) []int { return s.Scheduled }, contest.Scheduled),
	}
}
