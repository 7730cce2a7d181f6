package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/bench"
)

// targets has a line a target and a column an engine.
func targets(b *strings.Builder, r *bench.Results) {
	verdicts := bench.Judge(r)
	if len(verdicts) == 0 {
		return
	}
	met := 0
	var lines []string
	cells := map[string]map[string]string{}
	for _, v := range verdicts {
		text, mark := v.Target.String(), "missed"
		if v.Met {
			met, mark = met+1, "met"
		}
		if cells[text] == nil {
			cells[text] = map[string]string{}
			lines = append(lines, text)
		}
		if v.Why != "" {
			mark += ": " + v.Why
		}
		cells[text][v.Engine] = fmt.Sprintf("**%s** %s", short(v.Measured), mark)
	}
	fmt.Fprintf(b, "## Targets\n\n%d of %d are met.\n\n", met, len(verdicts))
	head(b, append([]string{"target"}, engineNames(r)...)...)
	for _, line := range lines {
		row(b, columns(r, line, cells[line])...)
	}
	fmt.Fprintln(b)
}

func engineNames(r *bench.Results) (names []string) {
	for _, e := range r.Engines {
		names = append(names, e.Name)
	}
	return names
}

func columns(r *bench.Results, first string, by map[string]string) []string {
	out := []string{first}
	for _, name := range engineNames(r) {
		cell := by[name]
		if cell == "" {
			cell = "–"
		}
		out = append(out, cell)
	}
	return out
}

// scenario has the plot, and a line an entrant.
func scenario(b *strings.Builder, r *bench.Results, s *bench.Scenario) {
	lines, cells := []string{}, map[string]map[string]string{}
	for _, e := range r.Engines {
		for _, m := range r.Of(e.Name, s.Name) {
			if cells[m.Label] == nil {
				cells[m.Label] = map[string]string{}
				lines = append(lines, m.Label)
			}
			cells[m.Label][e.Name] = cell(r, s, m)
		}
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "## %s\n\n<picture><source media=\"(prefers-color-scheme: dark)\" srcset=\"%s\"><img alt=\"%s\" src=\"%s\"></picture>\n\n",
		s.Title, plotName(s.Name, "dark"), s.Title, plotName(s.Name, "light"))
	head(b, append([]string{s.Unit}, engineNames(r)...)...)
	for _, line := range lines {
		row(b, columns(r, line, cells[line])...)
	}
	fmt.Fprintln(b)
}

// cell is the ratio to the reference, the median, the spread, and what else there is to say.
func cell(r *bench.Results, s *bench.Scenario, m *bench.Series) string {
	rounds := m.Values[s.Metric]
	if len(rounds) == 0 {
		return "failed"
	}
	text := fmt.Sprintf("%s ±%.0f %%", short(bench.Median(rounds)), 50*bench.Spread(rounds))
	if len(rounds) < 2 {
		text = short(bench.Median(rounds))
	}
	if ref := reference(r, s, m); ref == m {
		text = "*reference* " + text
	} else if ref != nil {
		text = fmt.Sprintf("**%s** %s", short(bench.Median(bench.Ratios(rounds, ref.Values[s.Metric]))), text)
	}
	if !m.Whole(s.Metric) {
		text += fmt.Sprintf("; failed after %d of %d rounds", len(rounds), m.Planned)
	}
	if cut := m.Values["cut"]; len(cut) > 0 {
		text += " ✂"
	}
	for _, also := range []string{"p99", "p99.9", "first", "with transactions", "commit p50", "doubles", "lost", "unsettled"} {
		if values := m.Values[also]; len(values) > 0 && tellAlso(s, also) {
			text += fmt.Sprintf("; %s %s", also, short(bench.Median(values)))
		}
	}
	return text
}

// tellAlso: the time to the first delivery is of interest beside memory alone.
func tellAlso(s *bench.Scenario, metric string) bool { return metric != "first" || s.Name == "memory" }

// reference is the limit if it takes part, else the first of the same curve, else the first of all.
func reference(r *bench.Results, s *bench.Scenario, m *bench.Series) *bench.Series {
	all := r.Of(m.Engine, s.Name)
	i := slices.IndexFunc(all, func(x *bench.Series) bool {
		if m.Curve != "" {
			return x.Curve == m.Curve
		}
		return x.Kind == "limit"
	})
	if i < 0 {
		return all[0]
	}
	return all[i]
}
