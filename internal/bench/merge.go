package bench

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// fits refuses what can't stand on one page with what earlier runs have measured.
func fits(before, run *Results) error {
	was, is := before.Machine, run.Machine
	was.Load, is.Load = "", ""
	switch {
	case was != is:
		return errors.New("the results that are there are of another machine or another Go: begin anew, without -add")
	case !reflect.DeepEqual(before.Sizes, run.Sizes):
		return errors.New("the results that are there are of other sizes: give the same flags, or begin anew, without -add")
	case !reflect.DeepEqual(before.Contestants, run.Contestants):
		return errors.New("the results that are there are of other contestants or of other code of this library: begin anew, without -add")
	}
	for _, e := range run.Engines {
		i := slices.IndexFunc(before.Engines, func(old EngineInfo) bool { return old.Name == e.Name })
		if i >= 0 && !reflect.DeepEqual(before.Engines[i], e) {
			return fmt.Errorf("the results that are there are of another %s, or of other settings of it: begin anew, without -add", e.Name)
		}
	}
	return nil
}

// Merge adds a run to what earlier ones have measured in the same circumstances. What it measured takes the place of the
// same scenario on the same engine as a whole: ratios are between contestants of one run.
func Merge(before, run *Results) (*Results, error) {
	if err := fits(before, run); err != nil {
		return nil, err
	}
	out := *before
	out.Took += run.Took
	out.Engines = slices.Clone(before.Engines)
	for _, e := range run.Engines {
		if !slices.ContainsFunc(out.Engines, func(old EngineInfo) bool { return old.Name == e.Name }) {
			out.Engines = append(out.Engines, e)
		}
	}
	out.Parts = slices.Concat(slices.DeleteFunc(slices.Clone(before.Parts), func(p Part) bool {
		return len(run.Of(p.Engine, p.Scenario)) > 0
	}), run.Parts)
	out.Series = slices.Concat(slices.DeleteFunc(slices.Clone(before.Series), func(s Series) bool {
		return len(run.Of(s.Engine, s.Scenario)) > 0
	}), run.Series)
	out.Notes = slices.Concat(slices.DeleteFunc(slices.Clone(before.Notes), func(note string) bool {
		engine, rest, _ := strings.Cut(note, ", ") // as runner.note writes it
		scenario, _, _ := strings.Cut(rest, ", ")
		return len(run.Of(engine, scenario)) > 0
	}), run.Notes)
	return &out, nil
}
