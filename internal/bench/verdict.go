package bench

import (
	"fmt"
	"slices"
)

// Verdict is a target on an engine with what was measured.
type Verdict struct {
	Target
	Engine   string
	Measured float64   // median of the rounds
	Rounds   []float64 // ratios, or values
	Met      bool
	Why      string // not met for another reason than the number; empty: none
}

// Judge measures the targets by a run. Those whose entrants were not run are left out; those of ours that failed are missed.
func Judge(r *Results) []Verdict {
	metric := map[string]string{}
	for _, s := range Scenarios() {
		metric[s.Name] = s.Metric
	}
	var out []Verdict
	for _, t := range Targets(r.Sizes) {
		if t.Metric == "" {
			t.Metric = metric[t.Scenario]
		}
		if t.AgainstScenario == "" {
			t.AgainstScenario = t.Scenario
		}
		if t.AgainstMetric == "" {
			t.AgainstMetric = t.Metric
		}
		for _, e := range r.Engines {
			if t.Engines != nil && !slices.Contains(t.Engines, e.Name) {
				continue
			}
			if v, ok := t.judge(r, e.Name); ok {
				out = append(out, v)
			}
		}
	}
	return out
}

func (t Target) judge(r *Results, engine string) (Verdict, bool) {
	ours := r.Find(engine, t.Scenario, t.Ours)
	if ours == nil {
		return Verdict{}, false
	}
	v := Verdict{Target: t, Engine: engine, Rounds: ours.Values[t.Metric], Why: ours.flaw(t.Metric)}
	if t.Against != "" {
		other := r.Find(engine, t.AgainstScenario, t.Against)
		if other == nil || len(other.Values[t.AgainstMetric]) == 0 {
			return Verdict{}, false
		}
		v.Rounds = Ratios(v.Rounds, other.Values[t.AgainstMetric])
	}
	v.Measured = Median(v.Rounds)
	v.Met = v.Why == "" && (v.Measured >= t.Limit && t.Bound == AtLeast || v.Measured <= t.Limit && t.Bound == AtMost)
	return v, true
}

// flaw is why a number does not count, or "".
func (s *Series) flaw(metric string) string {
	if !s.Whole(metric) {
		return fmt.Sprintf("it failed after %d of %d rounds", len(s.Values[metric]), s.Planned)
	}
	for _, bad := range []string{"lost", "doubles", "unsettled"} {
		if len(s.Values[bad]) > 0 {
			return bad + " events"
		}
	}
	return ""
}

// String is the target in words.
func (t Target) String() string {
	what := t.Scenario
	if t.Metric != "" {
		what += " (" + t.Metric + ")"
	}
	what += ": " + t.Ours
	if t.Against != "" {
		what += " / " + t.Against
		if t.AgainstScenario != "" && t.AgainstScenario != t.Scenario {
			what += " in " + t.AgainstScenario
		}
		if t.AgainstMetric != "" && t.AgainstMetric != t.Metric {
			what += " (" + t.AgainstMetric + ")"
		}
	}
	return fmt.Sprintf("%s %s %g", what, t.Bound, t.Limit)
}
