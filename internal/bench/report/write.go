// Package report writes a run down: results.md with tables, SVG plots for light and dark pages, and results.json, which
// a report can be made of again.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/bench"
)

// Write makes all files in a directory.
func Write(dir string, r *bench.Results) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	files := map[string]string{"results.json": string(text) + "\n", "results.md": markdown(r)}
	for _, s := range bench.Scenarios() {
		for _, t := range themes {
			if plot := plotOf(r, &s, t); plot != "" {
				files[plotName(s.Name, t.name)] = plot
			}
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Read is a run that was written before.
func Read(dir string) (*bench.Results, error) {
	text, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		return nil, err
	}
	var r bench.Results
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("results.json: %w", err)
	}
	return &r, nil
}

func plotName(scenario, theme string) string {
	return strings.ReplaceAll(scenario, " ", "-") + "-" + theme + ".svg"
}

// plotOf is a curve where entrants make up one, else bars; "" if nothing was measured.
func plotOf(r *bench.Results, s *bench.Scenario, t theme) string {
	var panels []panel
	curve := false
	for _, e := range r.Engines {
		p := panel{title: e.Name}
		for _, m := range r.Of(e.Name, s.Name) {
			if len(m.Values[s.Metric]) > 0 {
				p.series = append(p.series, m)
				curve = curve || m.Curve != ""
			}
		}
		if len(p.series) > 0 {
			panels = append(panels, p)
		}
	}
	switch {
	case len(panels) == 0:
		return ""
	case curve:
		return curves(panels, s, t)
	}
	return bars(panels, s, t)
}

// panel is an engine's part of a plot.
type panel struct {
	title  string
	series []*bench.Series
}
