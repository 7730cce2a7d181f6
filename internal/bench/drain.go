package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// How fast a backlog is handed to a publisher that does nothing.
func drainScenarios() []Scenario {
	one := func(name, title string, plan func(s Sizes) drainPlan) Scenario {
		return Scenario{
			Name: name, Title: title, Metric: "rate", Unit: "events/s",
			Entrants: func(engine string, s Sizes) []Entrant {
				return entrants(engine, func(ctx context.Context, l *Lane) (Values, error) {
					return drainAll(ctx, l, plan(s))
				})
			},
		}
	}
	return []Scenario{
		one("drain", "Draining events of 256 bytes", func(s Sizes) drainPlan { return drainPlan{n: s.Drain, size: s.Payload} }),
		one("drain large", "Draining events of 8 kB", func(s Sizes) drainPlan { return drainPlan{n: s.DrainLarge, size: s.Large} }),
	}
}

// drainPlan is a round of draining.
type drainPlan struct {
	n, size int
	keys    int // 0: as usual
	work    time.Duration
	limit   time.Duration // 0: as usual
	tuning  contest.Tuning
}

// drainAll fills an empty table and drains it. Whoever was cut off before gets no more events than it will come to.
func drainAll(ctx context.Context, l *Lane, d drainPlan) (Values, error) {
	if err := l.System.Clear(ctx); err != nil {
		return nil, err
	}
	whole := d
	if n := l.enough[whole]; n > 0 {
		d.n = min(d.n, n)
	}
	if err := fill(ctx, l, 0, d.n, d.size, d.keys); err != nil {
		return nil, err
	}
	sizes := l.Sizes
	if d.limit > 0 {
		l.Sizes.Limit = d.limit
	}
	defer func() { l.Sizes = sizes }()
	v, err := drained(ctx, l, &contest.Sink{Want: d.n, Work: d.work}, d.tuning)
	if err != nil {
		return nil, err
	}
	if v["cut"] > 0 && l.enough[whole] == 0 {
		l.enough[whole] = max(10*l.Sizes.Batch, int(1.5*v["rate"]*l.Sizes.Limit.Seconds()))
	}
	return v, check(ctx, l, d.n, v)
}

// fillStep is how many events a transaction holds at most.
const fillStep = 20_000

func fill(ctx context.Context, l *Lane, from, n, size, keys int) error {
	if keys == 0 {
		keys = l.Sizes.Keys
	}
	for n > 0 {
		k := min(n, fillStep, max(1, 64<<20/size))
		if err := l.System.Fill(ctx, contest.Batch{From: from, N: k, Size: size, Keys: keys}); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
		from, n = from+k, n-k
	}
	return l.Place.Rest(ctx)
}

// drained starts the system, waits until the sink has what it wants, and stops the system. What is there must be
// delivered, or left.
func drained(ctx context.Context, l *Lane, sink *contest.Sink, t contest.Tuning) (Values, error) {
	if t.Batch == 0 {
		t.Batch = l.Sizes.Batch
	}
	sink.After = after(sink, t.Batch)
	sink.Ready()
	stop, err := l.System.Start(ctx, sink, t)
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	whole, err := sink.Await(ctx, l.Sizes.Limit)
	v := Values{"rate": sink.Rate(), "first": sink.First().Seconds() * 1000}
	if whole && err == nil && sink.Until == sink.Want {
		err = contest.Settled(ctx, l.System)
	}
	if err := errors.Join(err, stop()); err != nil {
		return nil, err
	}
	v["delivered"] = float64(sink.Count()) // some more while it stopped
	if sink.Strays() > 0 {
		return nil, fmt.Errorf("%d events were delivered that nobody wrote", sink.Strays())
	}
	if n := sink.Doubles(); n > 0 {
		v["doubles"] = float64(n)
	}
	if !whole {
		v["cut"] = 1
	}
	return v, nil
}

// after is a fifth of what is drained, in whole batches. Both ends of the measured time are the end of a batch then, so
// that it holds as much reading and settling as publishing.
func after(s *contest.Sink, batch int) int {
	n := s.Until
	if n == 0 {
		n = s.Want
	}
	return n / 5 / batch * batch
}

// check is that nothing is lost: what was written is delivered, or left.
func check(ctx context.Context, l *Lane, written int, v Values) error {
	left, err := l.System.Left(ctx)
	if err != nil {
		return err
	}
	delivered := int(v["delivered"])
	if lost := written - delivered - left; lost > 0 {
		v["lost"] = float64(lost)
	}
	if delivered == written && left > 0 {
		v["unsettled"] = float64(left)
	}
	return nil
}
