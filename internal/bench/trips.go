package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// What draining sends to the database: round trips for 100 events, at a batch of 100. It depends on no clock, so that it
// tells on a busy machine what a rate can't.
func tripScenarios() []Scenario {
	return []Scenario{{
		Name: "trips", Title: "Round trips to the database for 100 events, at a batch of 100", Metric: "with transactions",
		Unit: "round trips", Lower: true, Once: true,
		Entrants: func(engine string, _ Sizes) []Entrant { return entrants(engine, trips) },
	}}
}

func trips(ctx context.Context, l *Lane) (v Values, err error) {
	n := l.Sizes.Drain / 2 / 100 * 100
	if err := l.System.Clear(ctx); err != nil {
		return nil, err
	}
	if err := fill(ctx, l, 0, n, l.Sizes.Payload, 0); err != nil {
		return nil, err
	}
	p, err := l.Place.Counting()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	s, err := l.who.Open(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var seen, statements, all atomic.Int64 // when a fifth was delivered: start-up is over
	sink := (&contest.Sink{Want: n, Seen: func(int, time.Time) {
		if int(seen.Add(1)) == n/5 {
			now, nowAll := p.Counter.Counts()
			statements.Store(int64(now))
			all.Store(int64(nowAll))
		}
	}}).Ready()
	stop, err := s.Start(ctx, sink, contest.Tuning{Batch: 100})
	if err != nil {
		return nil, err
	}
	whole, err := sink.Await(ctx, l.Sizes.Limit)
	if err == nil && whole {
		err = contest.Settled(ctx, l.System)
	}
	now, nowAll := p.Counter.Counts()
	if hundreds := float64(sink.Count()-n/5) / 100; hundreds > 0 {
		v = Values{"statements": (float64(now) - float64(statements.Load())) / hundreds,
			"with transactions": (float64(nowAll) - float64(all.Load())) / hundreds}
	}
	return v, errors.Join(err, stop())
}
