package bench

import "testing"

// What is fast but broken is no win, and what has failed is not passed over.
func TestAFlawIsNotMet(t *testing.T) {
	const metric = "rate"
	run := func(ours map[string][]float64) *Results {
		return &Results{Sizes: Full(), Engines: []EngineInfo{{Name: "sqlite"}}, Series: []Series{
			{Engine: "sqlite", Scenario: "drain", Label: total, Planned: 2, Values: ours},
			{Engine: "sqlite", Scenario: "drain", Label: bareRead, Planned: 2, Values: map[string][]float64{metric: {1, 1}}},
		}}
	}
	for name, c := range map[string]struct {
		ours map[string][]float64
		met  bool
	}{
		"well":        {map[string][]float64{metric: {2, 2}}, true},
		"slow":        {map[string][]float64{metric: {0.5, 0.5}}, false},
		"lost events": {map[string][]float64{metric: {2, 2}, "lost": {1}}, false},
		"doubles":     {map[string][]float64{metric: {2, 2}, "doubles": {1}}, false},
		"one round":   {map[string][]float64{metric: {2}}, false},
		"failed":      {map[string][]float64{}, false},
	} {
		verdicts := Judge(run(c.ours))
		if len(verdicts) != 1 || verdicts[0].Met != c.met || (verdicts[0].Why != "") == (c.met || name == "slow") {
			t.Errorf("%s: %+v", name, verdicts)
		}
	}
}
