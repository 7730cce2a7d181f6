package bench

import (
	"context"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// What a whole transaction takes that holds a business row and events, commit and all.
func writeScenarios() []Scenario {
	one := func(name, title string, events int) Scenario {
		return Scenario{
			Name: name, Title: title, Metric: "time", Unit: "µs", Lower: true,
			Entrants: func(engine string, s Sizes) []Entrant {
				return chosen(engine, func(ctx context.Context, l *Lane) (Values, error) {
					return writing(ctx, l, s.Writes, events)
				}, func(c contest.Contestant) bool {
					return named(perKey, skipCheck, bareRead)(c) || c.Kind == contest.Peer
				})
			},
		}
	}
	return []Scenario{
		one("write 1", "A transaction with a business row and one event", 1),
		one("write 100", "A transaction with a business row and 100 events", 100),
	}
}

func writing(ctx context.Context, l *Lane, n, events int) (Values, error) {
	if err := l.System.Clear(ctx); err != nil {
		return nil, err
	}
	b := contest.Batch{Size: l.Sizes.Payload, Keys: l.Sizes.Keys}
	all := make([]contest.Event, events)
	begin, done := time.Now(), 0
	for ; done < n && time.Since(begin) < l.Sizes.Limit; done++ {
		for k := range all {
			all[k] = b.Event(done*events + k)
		}
		if err := l.System.Write(ctx, all); err != nil {
			return nil, err
		}
	}
	return Values{"time": time.Since(begin).Seconds() * 1e6 / float64(done)}, nil
}
