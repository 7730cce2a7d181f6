package bench

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	MaybeChild()
	os.Exit(m.Run())
}

// The smallest run of all scenarios on SQLite: everybody is there and nothing fails.
func TestSmallestRun(t *testing.T) {
	r, err := Run(t.Context(), Config{Engines: []string{"sqlite"}, Scenarios: Scenarios(), Sizes: Smallest(), Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range r.Notes {
		t.Error(note)
	}
	for _, s := range Scenarios() {
		if s.on("sqlite") && len(r.Of("sqlite", s.Name)) == 0 {
			t.Errorf("nothing was measured in %s", s.Name)
		}
	}
	for _, s := range r.Series {
		for _, bad := range []string{"lost", "doubles", "unsettled"} {
			if len(s.Values[bad]) > 0 {
				t.Errorf("%s, %s: %s: %v", s.Scenario, s.Label, bad, s.Values[bad])
			}
		}
	}
}
