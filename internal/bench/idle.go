package bench

import (
	"context"
	"errors"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// What a relay sends to the database while there is nothing to do, with everybody's default settings. Ours are two at
// once, since a follower costs something too, and the one that sends more counts.
func idleScenarios() []Scenario {
	return []Scenario{{
		Name: "idle", Title: "Statements a minute while idle, default settings", Metric: "statements", Unit: "a minute",
		Lower: true, Once: true, Together: true,
		Entrants: func(engine string, _ Sizes) []Entrant {
			return chosen(engine, idle, func(c contest.Contestant) bool { return c.Name != skipCheck && c.Kind != contest.Limit })
		},
	}}
}

func idle(ctx context.Context, l *Lane) (v Values, err error) {
	relays := 1
	who := l.who
	if who.Kind == contest.Ours {
		relays = 2
	}
	if err := l.System.Clear(ctx); err != nil {
		return nil, err
	}
	counters := make([]*contest.Counter, relays)
	for i := range counters {
		p, err := l.Place.Counting()
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.Close()) }()
		s, err := who.Open(ctx, p)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		stop, err := s.Start(ctx, (&contest.Sink{Want: 1}).Ready(), contest.Tuning{Defaults: true})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, stop()) }()
		counters[i] = p.Counter
	}
	select { // it settles down: waits grow while there is nothing
	case <-time.After(min(5*time.Second, l.Sizes.Idle)):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	v = Values{}
	before := make([][2]int, relays)
	for i, c := range counters {
		before[i][0], before[i][1] = c.Counts()
	}
	time.Sleep(l.Sizes.Idle)
	for i, c := range counters {
		statements, all := c.Counts()
		a := float64(statements-before[i][0]) / l.Sizes.Idle.Minutes()
		b := float64(all-before[i][1]) / l.Sizes.Idle.Minutes()
		v["statements"], v["with transactions"] = max(v["statements"], a), max(v["with transactions"], b)
	}
	return v, nil
}
