package bench

import (
	"slices"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// Target is what a run should show: a ratio of two entrants, or a plain value.
type Target struct {
	Scenario string
	Metric   string // empty: the scenario's
	Ours     string // label of the entrant
	Against  string // label of the other; empty: the value itself is compared
	// AgainstScenario and AgainstMetric, where they differ.
	AgainstScenario, AgainstMetric string
	Bound                          Bound
	Limit                          float64
	Engines                        []string // nil: all that have both
}

// Bound is which side of the limit is met.
type Bound string

const (
	AtLeast Bound = "at least"
	AtMost  Bound = "at most"
)

// Targets are those of the project's table, for a run of these sizes.
func Targets(s Sizes) []Target {
	return slices.Concat(writeTargets(), drainTargets(), slowTargets(), latencyTargets(), sizeTargets(s), restTargets(s))
}

var all3 = []string{total, perKey, none}

func writeTargets() (out []Target) {
	checked, others := []string{"mysql", "mariadb"}, []string{"sqlite", "postgres"}
	return []Target{
		{Scenario: "insert 1", Ours: perKey, Against: bareRead, Bound: AtMost, Limit: 1.10, Engines: others},
		{Scenario: "insert 1", Ours: perKey, Against: bareRead, Bound: AtMost, Limit: 1.25, Engines: checked},
		{Scenario: "insert 1", Ours: skipCheck, Against: bareRead, Bound: AtMost, Limit: 1.10},
		{Scenario: "write 1", Ours: perKey, Against: bareRead, Bound: AtMost, Limit: 1.10, Engines: others},
		{Scenario: "write 1", Ours: perKey, Against: bareRead, Bound: AtMost, Limit: 1.25, Engines: checked},
		{Scenario: "insert 100", Ours: perKey, Against: bareRead, Bound: AtMost, Limit: 1.10},
		{Scenario: "write 100", Ours: perKey, Against: bareRead, Bound: AtMost, Limit: 1.10},
	}
}

func drainTargets() (out []Target) {
	for _, scenario := range []string{"drain", "drain large"} {
		for _, o := range []string{total, perKey} {
			out = append(out, Target{Scenario: scenario, Ours: o, Against: bareRead, Bound: AtLeast, Limit: 0.9})
		}
		for _, limit := range []string{bareClaim, bareLease} { // a lock that lasts as long as a transaction, and a claim that outlives it
			out = append(out, Target{Scenario: scenario, Ours: none, Against: limit, Bound: AtLeast, Limit: 0.9})
		}
	}
	for _, scenario := range []string{"drain", "drain large"} {
		for _, o := range all3 {
			out = append(out, peerTargets(scenario, o)...)
		}
	}
	return out
}

func peerTargets(scenario, ours string) (out []Target) {
	for _, p := range []struct {
		name   string
		limit  float64
		engine string // empty: all
	}{
		{"oagudo", 1, ""}, {"watermill", 1.3, "postgres"}, {"watermill queue", 1.3, "postgres"}, {"watermill", 8, "mysql"},
		{"watermill queue", 8, "mysql"}, {"river pgx", 4, "postgres"}, {"river sql", 4, "postgres"},
		{"river sql", 15, "sqlite"}, {"goqite", 10, ""},
	} {
		t := Target{Scenario: scenario, Ours: ours, Against: p.name, Bound: AtLeast, Limit: p.limit}
		if p.engine != "" {
			t.Engines = []string{p.engine}
		}
		out = append(out, t)
	}
	return out
}

func slowTargets() (out []Target) {
	for _, o := range []string{perKey, none} {
		out = append(out,
			Target{Scenario: "slow", Ours: o, Against: total, Bound: AtLeast, Limit: 20},
			Target{Scenario: "slow", Ours: o, Against: o + noWait, Bound: AtLeast, Limit: 0.7})
		for _, p := range peers() {
			out = append(out, Target{Scenario: "slow", Ours: o, Against: p, Bound: AtLeast, Limit: 1})
		}
	}
	return out
}

func latencyTargets() (out []Target) {
	for _, o := range all3 {
		out = append(out,
			Target{Scenario: "latency", Ours: o, Against: o, AgainstMetric: "commit p50", Bound: AtMost, Limit: 2},
			Target{Scenario: "latency", Metric: "p99", Ours: o, Bound: AtMost, Limit: 10})
		for _, p := range peers() {
			out = append(out, Target{Scenario: "latency", Ours: o, Against: p, Bound: AtMost, Limit: 1})
		}
	}
	return out
}

func peers() (names []string) {
	for _, c := range contest.All() {
		if c.Kind == contest.Peer {
			names = append(names, c.Name)
		}
	}
	return names
}

// sizeTargets: what grows must not slow it down.
func sizeTargets(s Sizes) (out []Target) {
	for _, o := range all3 {
		for _, c := range []struct {
			scenario, what string
			sizes          []int
		}{{"backlog", "pending", s.Backlog}, {"kept", "kept", s.Kept}, {"scheduled", "scheduled", s.Scheduled}} {
			for _, n := range c.sizes[1:] {
				out = append(out, Target{Scenario: c.scenario, Ours: join(o, n, c.what), Against: join(o, c.sizes[0], c.what),
					Bound: AtLeast, Limit: 0.9})
			}
		}
	}
	return out
}

func restTargets(s Sizes) (out []Target) {
	if n := len(s.Processes); n > 1 && s.Processes[n-1] == 4 {
		out = append(out, Target{Scenario: "processes", Ours: join(perKey, 4, "processes"),
			Against: join(perKey, s.Processes[0], "processes"), Bound: AtLeast, Limit: 3.5})
	}
	for _, o := range all3 {
		out = append(out,
			Target{Scenario: "snapshot", Ours: o, Bound: AtLeast, Limit: 0.7},
			Target{Scenario: "memory", Ours: o, Bound: AtMost, Limit: 256},
			Target{Scenario: "memory", Metric: "first", Ours: o, Bound: AtMost, Limit: 1000},
			Target{Scenario: "idle", Ours: o, Bound: AtMost, Limit: 60})
	}
	return out
}
