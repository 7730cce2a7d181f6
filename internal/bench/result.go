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
	Parts       []Part        `json:"parts"`
	Series      []Series      `json:"series"`
	Notes       []string      `json:"notes"` // what went wrong
}

// Part is when a scenario ran on an engine.
type Part struct {
	Engine   string        `json:"engine"`
	Scenario string        `json:"scenario"`
	Begun    time.Time     `json:"begun"`
	Took     time.Duration `json:"took_ns"`
	Load     string        `json:"load"` // of the machine, before the run that it belongs to
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
	Planned  int                  `json:"planned"` // rounds; with fewer it failed
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

// Whole reports whether there is a value of each round.
func (s *Series) Whole(metric string) bool { return len(s.Values[metric]) >= max(1, s.Planned) }

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
