package bench

import (
	"errors"
	"reflect"
	"slices"
	"strings"
)

// Merge adds a run to what earlier ones have measured in the same circumstances. What it measured takes the place of the
// same scenario on the same engine as a whole: ratios are between contestants of one run.
func Merge(before, run *Results) (*Results, error) {
	was, is := before.Machine, run.Machine
	was.Load, is.Load = "", ""
	switch {
	case was != is:
		return nil, errors.New("the results that are there are of another machine or another Go: begin anew, without -add")
	case !reflect.DeepEqual(before.Sizes, run.Sizes):
		return nil, errors.New("the results that are there are of other sizes: give the same flags, or begin anew, without -add")
	case !reflect.DeepEqual(before.Contestants, run.Contestants):
		return nil, errors.New("the results that are there are of other contestants: begin anew, without -add")
	}
	out := *before
	out.Took += run.Took
	out.Engines = slices.Clone(before.Engines)
	for _, e := range run.Engines {
		if i := slices.IndexFunc(out.Engines, func(old EngineInfo) bool { return old.Name == e.Name }); i >= 0 {
			out.Engines[i] = e
		} else {
			out.Engines = append(out.Engines, e)
		}
	}
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
