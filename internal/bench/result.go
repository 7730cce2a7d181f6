package bench

import "time"

// Results are a whole run, as it is written to results.json.
type Results struct {
	Begun       time.Time     `json:"begun"`
	Took        time.Duration `json:"took_ns"`
	Machine     Machine       `json:"machine"`
	Sizes       Sizes         `json:"sizes"`
	Engines     []EngineInfo  `json:"engines"`
	Contestants []Version     `json:"contestants"`
	Series      []Series      `json:"series"`
	Notes       []string      `json:"notes"` // what went wrong
}

// Series are the rounds of one entrant on one engine.
type Series struct {
	Engine   string               `json:"engine"`
	Scenario string               `json:"scenario"`
	Label    string               `json:"label"`
	Who      string               `json:"who"`
	Kind     string               `json:"kind"`
	Curve    string               `json:"curve,omitempty"`
	X        float64              `json:"x,omitempty"`
	Values   map[string][]float64 `json:"values"`
}

// Find is a series, or nil.
func (r *Results) Find(engine, scenario, label string) *Series {
	for i := range r.Series {
		if s := &r.Series[i]; s.Engine == engine && s.Scenario == scenario && s.Label == label {
			return s
		}
	}
	return nil
}

// Of are the series of a scenario on an engine.
func (r *Results) Of(engine, scenario string) []*Series {
	var out []*Series
	for i := range r.Series {
		if s := &r.Series[i]; s.Engine == engine && s.Scenario == scenario {
			out = append(out, s)
		}
	}
	return out
}
