package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// How long after its commit an event is published, at 200 events a second.
func latencyScenarios() []Scenario {
	return []Scenario{{
		Name: "latency", Title: "From commit to publish at 200 events/s, median", Metric: "p50", Unit: "ms", Lower: true,
		Entrants: func(engine string, _ Sizes) []Entrant { return waiting(engine, latency) },
	}}
}

// times are when the commit of each event was known, and when it was published.
type times struct{ committed, published []atomic.Int64 }

// commits is how many writers may wait for a commit at once: a disk may take longer than the time between two events.
const commits = 16

func latency(ctx context.Context, l *Lane) (Values, error) {
	if err := l.System.Clear(ctx); err != nil {
		return nil, err
	}
	n := max(1, int(l.Sizes.RateFor.Seconds()*float64(l.Sizes.Rate)))
	commit, err := oneCommit(ctx, l)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	at := times{make([]atomic.Int64, n), make([]atomic.Int64, n)}
	sink := (&contest.Sink{Want: n, Seen: func(i int, t time.Time) { at.published[i].Store(int64(t.Sub(start))) }}).Ready()
	stop, err := l.System.Start(ctx, sink, contest.Tuning{Batch: l.Sizes.Batch})
	if err != nil {
		return nil, err
	}
	time.Sleep(l.Sizes.Calm) // it has settled down, and is idle
	err = write(ctx, l, n, start, at)
	whole, waitErr := sink.Await(ctx, 10*time.Second)
	if err = errors.Join(err, waitErr); err == nil && whole {
		err = contest.Settled(ctx, l.System)
	}
	if err = errors.Join(err, stop()); err != nil {
		return nil, err
	}
	v := Values{}
	if !whole {
		left, err := l.System.Left(ctx)
		if err != nil {
			return nil, err
		}
		if left > 0 {
			return nil, fmt.Errorf("only %d of %d events were published within 10 s", sink.Count(), n)
		}
		v["lost"] = float64(n - sink.Count())
	}
	var waits []float64
	for i := range n {
		if at.published[i].Load() == 0 {
			continue
		}
		waits = append(waits, max(0, float64(at.published[i].Load()-at.committed[i].Load())/1e6))
	}
	v["p50"], v["p99"], v["p99.9"] = Quantile(waits, 0.5), Quantile(waits, 0.99), Quantile(waits, 0.999)
	v["commit p50"] = commit
	return v, nil
}

// oneCommit is what the COMMIT of a single row takes here and now, in ms, while nothing else goes on: the median of some.
func oneCommit(ctx context.Context, l *Lane) (float64, error) {
	var all []float64
	for range max(5, l.Sizes.Writes/10) {
		tx, err := l.Place.DB.BeginTx(ctx, nil)
		if err != nil {
			return 0, err
		}
		if _, err := tx.ExecContext(ctx, contest.Order); err != nil {
			return 0, errors.Join(err, tx.Rollback())
		}
		begin := time.Now()
		if err := tx.Commit(); err != nil {
			return 0, err
		}
		all = append(all, time.Since(begin).Seconds()*1000)
	}
	return Median(all), nil
}

// write commits n events at the rate, each in a transaction of its own.
func write(ctx context.Context, l *Lane, n int, start time.Time, at times) error {
	b := contest.Batch{N: n, Size: l.Sizes.Payload, Keys: l.Sizes.Keys}
	tick := time.NewTicker(time.Second / time.Duration(l.Sizes.Rate))
	defer tick.Stop()
	var all sync.WaitGroup
	room, errs := make(chan struct{}, commits), make([]error, n)
	for i := range n {
		<-tick.C
		room <- struct{}{}
		all.Go(func() {
			errs[i] = l.System.Write(ctx, []contest.Event{b.Event(i)})
			at.committed[i].Store(int64(time.Since(start)))
			<-room
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
