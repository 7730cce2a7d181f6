package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// What further relay processes bring where a publish takes time and each process makes one at a time.
func processScenarios() []Scenario {
	return []Scenario{{
		Name: "processes", Title: "Draining where a publish takes 1 ms, one at a time in each relay process, by processes",
		Metric: "rate", Unit: "events/s",
		Entrants: func(engine string, s Sizes) []Entrant {
			var all []Entrant
			for _, n := range s.Processes {
				for _, e := range chosen(engine, nil, named(perKey, none)) {
					e.Label, e.Series, e.X = join(e.Who.Name, n, "processes"), e.Who.Name, float64(n)
					e.Round = func(ctx context.Context, l *Lane) (Values, error) { return processes(ctx, l, n) }
					all = append(all, e)
				}
			}
			return all
		},
	}}
}

// processes starts the relays on an empty table, waits until they share the keys, and commits all events at once.
func processes(ctx context.Context, l *Lane, n int) (v Values, err error) {
	if err := l.System.Clear(ctx); err != nil {
		return nil, err
	}
	want := max(1, l.Sizes.Slow/4) * n
	sink := (&contest.Sink{Want: want, After: want / 10}).Ready()
	o := task{Name: l.who.Name, Engine: l.Place.Engine, URL: l.Place.URL, Want: want, Work: l.Sizes.Work,
		Tuning: contest.Tuning{Batch: l.Sizes.Batch, Concurrency: 1, Poll: 20 * time.Millisecond, Lease: 3 * time.Second}}
	children := make([]*child, 0, n)
	defer func() {
		for _, c := range children {
			_, e := c.end()
			err = errors.Join(err, e)
		}
		if err == nil {
			v["delivered"] = float64(sink.Count()) // some more while they stopped
			err = check(ctx, l, want, v)
		}
	}()
	for range n {
		c, err := startChild(ctx, o, sink)
		if err != nil {
			return nil, err
		}
		children = append(children, c)
	}
	if err := shared(ctx, l, n); err != nil {
		return nil, err
	}
	if err := l.System.Fill(ctx, contest.Batch{N: want, Size: l.Sizes.Payload, Keys: l.Sizes.Keys}); err != nil {
		return nil, err
	}
	whole, err := sink.Await(ctx, l.Sizes.Limit)
	v = Values{"rate": sink.Rate()}
	if n := sink.Doubles(); n > 0 {
		v["doubles"] = float64(n)
	}
	if !whole {
		v["cut"] = 1
	}
	if err == nil && whole {
		err = contest.Settled(ctx, l.System)
	}
	return v, err
}

// sharePatience is how long relays may take to share the keys: some signs of life.
const sharePatience = 20 * time.Second

// shared waits until n relays live, and their shares differ by one at most.
func shared(ctx context.Context, l *Lane, n int) error {
	type sharer interface {
		Shares(ctx context.Context) ([]int, error)
	}
	for end := time.Now().Add(sharePatience); ; time.Sleep(50 * time.Millisecond) {
		shares, err := l.System.(sharer).Shares(ctx)
		if err != nil {
			return err
		}
		sum := 0
		for _, share := range shares {
			sum += share
		}
		even := l.who.Name == none || sum == 64 && slices.Max(shares)-slices.Min(shares) <= 1
		if len(shares) == n && even {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d relays do not share the keys after %v: %v", n, sharePatience, shares)
		}
	}
}
