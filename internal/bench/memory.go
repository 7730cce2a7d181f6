package bench

import (
	"context"
	"errors"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// How much memory a process with nothing but a relay takes beside a backlog of large events, and how soon it delivers the
// first one.
func memoryScenarios() []Scenario {
	return []Scenario{{
		Name: "memory", Title: "Memory of a relay process beside a backlog of 64 kB events, at most", Metric: "peak",
		Unit: "MiB", Lower: true, Once: true,
		Entrants: func(engine string, _ Sizes) []Entrant {
			return chosen(engine, memory, named(total, perKey, none, "oagudo")) // it is some gigabytes for each
		},
	}}
}

func memory(ctx context.Context, l *Lane) (Values, error) {
	s := l.Sizes
	if err := l.System.Clear(ctx); err != nil {
		return nil, err
	}
	if err := fill(ctx, l, 0, s.Memory, s.MemorySize, 0); err != nil {
		return nil, err
	}
	sink := (&contest.Sink{Want: s.Memory, After: s.Memory / 10}).Ready()
	c, err := startChild(ctx, task{Name: l.who.Name, Engine: l.Place.Engine, URL: l.Place.URL, Want: s.Memory,
		Tuning: contest.Tuning{Batch: s.Batch}}, sink)
	if err != nil {
		return nil, err
	}
	whole, err := sink.Await(ctx, s.Limit)
	if err == nil && whole {
		err = contest.Settled(ctx, l.System)
	}
	said, endErr := c.end()
	if err != nil {
		return nil, err
	}
	if endErr != nil {
		return nil, endErr
	}
	if sink.Count() == 0 {
		return nil, errors.New("nothing was delivered")
	}
	v := Values{"peak": float64(said.Peak) / (1 << 20), "first": said.First.Seconds() * 1000, "rate": sink.Rate(),
		"delivered": float64(sink.Count())}
	if !whole {
		v["cut"] = 1
	}
	if err := check(ctx, l, s.Memory, v); err != nil {
		return nil, err
	}
	return v, l.System.Clear(ctx)
}
