package bench

import (
	"reflect"
	"testing"
	"time"
)

func TestMergeReplacesWhatWasMeasuredAgain(t *testing.T) {
	series := func(engine, scenario, label string, x float64) Series {
		return Series{Engine: engine, Scenario: scenario, Label: label, Values: map[string][]float64{"rate": {x}}}
	}
	before := &Results{
		Took: time.Minute, Engines: []EngineInfo{{Name: "sqlite", Version: "1"}, {Name: "mysql", Version: "1"}},
		Series: []Series{series("sqlite", "drain", "a", 1), series("sqlite", "drain", "gone", 1), series("sqlite", "slow", "a", 1), series("mysql", "drain", "a", 1)},
		Parts:  []Part{{Engine: "sqlite", Scenario: "drain", Load: "1"}, {Engine: "sqlite", Scenario: "slow", Load: "1"}},
		Notes:  []string{"sqlite, drain, b: it failed", "sqlite, slow, b: it failed"},
	}
	run := &Results{
		Took: time.Second, Engines: []EngineInfo{{Name: "sqlite", Version: "1"}, {Name: "postgres", Version: "2"}},
		Parts:  []Part{{Engine: "sqlite", Scenario: "drain", Load: "2"}},
		Series: []Series{series("sqlite", "drain", "a", 2), series("postgres", "drain", "a", 2)},
		Notes:  []string{"postgres, drain, b: it failed"},
	}
	got, err := Merge(before, run)
	if err != nil {
		t.Fatal(err)
	}
	want := &Results{
		Took: 61 * time.Second, Engines: []EngineInfo{{Name: "sqlite", Version: "1"}, {Name: "mysql", Version: "1"}, {Name: "postgres", Version: "2"}},
		Parts:  []Part{{Engine: "sqlite", Scenario: "slow", Load: "1"}, {Engine: "sqlite", Scenario: "drain", Load: "2"}},
		Series: []Series{series("sqlite", "slow", "a", 1), series("mysql", "drain", "a", 1), series("sqlite", "drain", "a", 2), series("postgres", "drain", "a", 2)},
		Notes:  []string{"sqlite, slow, b: it failed", "postgres, drain, b: it failed"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestMergeRefusesOtherCircumstances(t *testing.T) {
	for name, run := range map[string]*Results{
		"machine":     {Machine: Machine{CPUs: 3}},
		"sizes":       {Sizes: Sizes{Batch: 3}},
		"contestants": {Contestants: []Version{{Name: "a", Version: "v2"}}},
		"engine":      {Engines: []EngineInfo{{Name: "sqlite", Version: "2"}}},
	} {
		if _, err := Merge(&Results{Engines: []EngineInfo{{Name: "sqlite", Version: "1"}}}, run); err == nil {
			t.Errorf("another %s is not refused", name)
		}
	}
	if _, err := Merge(&Results{Machine: Machine{Load: "0.1"}}, &Results{Machine: Machine{Load: "0.2"}}); err != nil {
		t.Error("another load is refused:", err)
	}
}
