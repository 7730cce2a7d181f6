package bench

import "context"

// How the rate falls with the size of the events.
func payloadScenarios() []Scenario {
	return []Scenario{{
		Name: "payload", Title: "Draining, by bytes of an event", Metric: "rate", Unit: "events/s",
		Entrants: func(engine string, s Sizes) []Entrant {
			var all []Entrant
			for _, size := range s.Payloads {
				n := max(s.Batch, min(s.Drain, s.Drain*1024/size))
				for _, e := range chosen(engine, nil, named(total, perKey, none, bareRead)) {
					e.Label, e.Series, e.X = join(e.Who.Name, size, "bytes"), e.Who.Name, float64(size)
					e.Round = func(ctx context.Context, l *Lane) (Values, error) {
						return drainAll(ctx, l, drainPlan{n: n, size: size})
					}
					all = append(all, e)
				}
			}
			return all
		},
	}}
}
