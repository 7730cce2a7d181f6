package bench

import (
	"context"
	"slices"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// Scenario is one thing that is measured, of several entrants in turn.
type Scenario struct {
	Name    string
	Title   string // with its unit, as above a plot
	Metric  string // the one that is plotted and compared
	Unit    string
	Lower   bool     // is better
	Engines []string // nil: all
	Times   int      // so many times as many rounds, where they are short; 0: 1
	Once    bool     // one round says it all
	// Together: the rounds of all entrants at once. They do next to nothing.
	Together bool
	Entrants func(engine string, s Sizes) []Entrant
}

// Entrant is a contestant in a scenario, perhaps several times in different circumstances.
type Entrant struct {
	Who    contest.Contestant
	Label  string  // empty: the contestant's name
	Series string  // entrants that make up a curve
	X      float64 // where on the curve
	// Prepare fills a database of this entrant's own, once. Nil: it uses the contestant's, with all taken out before.
	Prepare func(ctx context.Context, l *Lane) error
	Round   func(ctx context.Context, l *Lane) (Values, error)
}

// Values are what a round has measured, by metric.
type Values map[string]float64

// Lane is where an entrant runs.
type Lane struct {
	Place  *contest.Place
	System contest.System
	Sizes  Sizes

	who contest.Contestant

	next   int               // number of the next event, where rounds build on each other
	enough map[drainPlan]int // events for a round that was cut off
}

func (e *Entrant) label() string {
	if e.Label != "" {
		return e.Label
	}
	return e.Who.Name
}

func (s *Scenario) on(engine string) bool {
	return s.Engines == nil || slices.Contains(s.Engines, engine)
}

// Scenarios are all, in the order of the report.
func Scenarios() []Scenario {
	return slices.Concat(insertScenarios(), writeScenarios(), drainScenarios(), payloadScenarios(), tripScenarios(), slowScenarios(), latencyScenarios(),
		processScenarios(), backlogScenarios(), keptScenarios(), snapshotScenarios(), idleScenarios(), memoryScenarios())
}

// QuickScenarios are those of a quick run.
var QuickScenarios = []string{"insert 1", "insert 100", "drain", "slow", "latency"}

// entrants are the contestants that an engine has, but for those that differ in writing alone.
func entrants(engine string, round func(ctx context.Context, l *Lane) (Values, error)) []Entrant {
	return chosen(engine, round, func(c contest.Contestant) bool { return c.Name != skipCheck })
}

// waiting are those of entrants that differ where a publish, or the next event, is waited for.
func waiting(engine string, round func(ctx context.Context, l *Lane) (Values, error)) []Entrant {
	return chosen(engine, round, func(c contest.Contestant) bool {
		return !slices.Contains([]string{skipCheck, bareClaim, bareLease}, c.Name)
	})
}

const (
	total     = "sqloutbox total"
	perKey    = "sqloutbox per key"
	none      = "sqloutbox none"
	skipCheck = "sqloutbox SkipTxCheck"
	bareRead  = "bare select+delete"
	bareClaim = "bare claim+delete"
	bareLease = "bare lease+delete"
)

func named(names ...string) func(contest.Contestant) bool {
	return func(c contest.Contestant) bool { return slices.Contains(names, c.Name) }
}

func chosen(engine string, round func(ctx context.Context, l *Lane) (Values, error), is func(contest.Contestant) bool) []Entrant {
	var out []Entrant
	for _, c := range contest.All() {
		if c.On(engine) && is(c) {
			out = append(out, Entrant{Who: c, Round: round})
		}
	}
	return out
}
