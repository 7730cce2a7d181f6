package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// Config says what to run.
type Config struct {
	Engines   []string
	Scenarios []Scenario
	Sizes     Sizes
	Only      func(contest string) bool // contestants; nil: all
	Log       io.Writer
	// Adding is what the results are to be merged with; nil: nothing. What doesn't fit together is refused before it is run.
	Adding *Results
	// Done is told after each scenario, so that a long run that is broken off has led to something. Its error ends the run.
	Done func(*Results) error // nil: nobody
}

// Run takes the turns: engine by engine, scenario by scenario, and in each round one entrant after the other. What fails
// is noted, and has fewer rounds than planned; an error is one of the whole run.
func Run(ctx context.Context, c Config) (*Results, error) {
	r := &runner{Config: c, out: &Results{Begun: time.Now(), Machine: machine(), Sizes: c.Sizes, Contestants: versions()}}
	if err := r.fits(); err != nil {
		return nil, err
	}
	for _, name := range c.Engines {
		if err := r.engine(ctx, name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return r.out, nil
}

type runner struct {
	Config
	out   *Results
	on    *engines.Engine
	lanes map[string]*Lane // of this engine, by contestant
}

func (r *runner) engine(ctx context.Context, name string) (err error) {
	if r.on, err = engines.Up(ctx, name, r.Log); err != nil {
		return err
	}
	info, err := infoOf(ctx, r.on)
	if err != nil {
		return err
	}
	r.out.Engines = append(r.out.Engines, info)
	if err := r.fits(); err != nil {
		return err
	}
	r.lanes = make(map[string]*Lane)
	defer func() {
		for _, l := range r.lanes {
			l.close()
		}
	}()
	for _, s := range r.Scenarios {
		if !s.on(name) {
			continue
		}
		begin := time.Now()
		series := r.scenario(ctx, &s)
		if err := ctx.Err(); err != nil {
			return err // half of a scenario would take the place of a whole one
		}
		r.out.Series = append(r.out.Series, series...)
		r.out.Parts = append(r.out.Parts, Part{name, s.Name, begin, time.Since(begin), r.out.Machine.Load})
		r.out.Took = time.Since(r.out.Begun)
		if r.Done != nil {
			if err := r.Done(r.out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *runner) fits() error {
	if r.Adding == nil {
		return nil
	}
	return fits(r.Adding, r.out)
}

// turn is an entrant with its lane and what it has measured.
type turn struct {
	Entrant
	lane *Lane
	got  Series
	out  bool // it failed
	// without: there is no such thing on this engine.
	without bool
}

func (r *runner) scenario(ctx context.Context, s *Scenario) (series []Series) {
	begin := time.Now()
	rounds := r.Sizes.Rounds * max(1, s.Times)
	if s.Once {
		rounds = 1
	}
	var turns []*turn
	for _, e := range s.Entrants(r.on.Name, r.Sizes) {
		if r.Only != nil && !r.Only(e.Who.Name) {
			continue
		}
		l, err := r.lane(ctx, &e)
		if errors.Is(err, contest.ErrUnsupported) {
			continue
		}
		t := &turn{Entrant: e, lane: l, out: err != nil, got: Series{Engine: r.on.Name, Scenario: s.Name, Label: e.label(),
			Who: e.Who.Name, Kind: string(e.Who.Kind), Curve: e.Series, X: e.X, Planned: rounds, Values: map[string][]float64{}}}
		if err != nil {
			r.note(s, &e, err)
		} else if e.Prepare != nil {
			defer l.close()
		}
		turns = append(turns, t)
	}
	for i := range rounds {
		if len(turns) > 0 { // A B C, B C A, …: nobody always follows the same one
			at := i % len(turns)
			r.round(ctx, s, slices.Concat(turns[at:], turns[:at]))
		}
	}
	for _, t := range turns {
		if t.without {
			continue
		}
		series = append(series, t.got)
		fmt.Fprintf(r.Log, "%-9s %-12s %-36s %12.1f %s\n", r.on.Name, s.Name, t.label(), Median(t.got.Values[s.Metric]), s.Unit)
	}
	fmt.Fprintf(r.Log, "%-9s %-12s took %v\n", r.on.Name, s.Name, time.Since(begin).Round(100*time.Millisecond))
	return series
}

func (r *runner) round(ctx context.Context, s *Scenario, turns []*turn) {
	var all sync.WaitGroup
	var mu sync.Mutex // guards the results while rounds run together
	for _, t := range turns {
		if t.out || ctx.Err() != nil {
			continue
		}
		runtime.GC() // nobody pays for what the one before has left
		one := func() {
			v, err := t.Round(ctx, t.lane)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.out, t.without = true, errors.Is(err, contest.ErrUnsupported)
				r.note(s, &t.Entrant, err)
				return
			}
			for metric, x := range v {
				if !math.IsNaN(x) && !math.IsInf(x, 0) { // nothing happened, or in no time
					t.got.Values[metric] = append(t.got.Values[metric], x)
				}
			}
		}
		if s.Together {
			all.Go(one)
		} else {
			one()
		}
	}
	all.Wait()
	if err := r.tidy(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(r.Log, err)
	}
}

func (r *runner) note(s *Scenario, e *Entrant, err error) {
	if errors.Is(err, contest.ErrUnsupported) {
		return
	}
	text := fmt.Sprintf("%s, %s, %s: %v", r.on.Name, s.Name, e.label(), err)
	r.out.Notes = append(r.out.Notes, text)
	fmt.Fprintln(r.Log, "FAILED", text)
}
