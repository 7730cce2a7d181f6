package report

import (
	"slices"

	"github.com/sqloutbox/sqloutbox/internal/bench"
)

const (
	curveHeight = 190.0
	axisRoom    = 74.0
)

// curves has a panel an engine, one below the other, and a line a contestant. What is measured stands at equal
// distances: sizes grow by factors, and the first may be none at all.
func curves(panels []panel, s *bench.Scenario, t theme) string {
	names, xs := curvesOf(panels)
	height := 70 + curveHeight*float64(len(panels))
	c := newCanvas(t, width, height, s.Title)
	c.legend(names)
	for i, p := range panels {
		c.curvePanel(p, s, names, xs, 60+curveHeight*float64(i))
	}
	c.label(width-16, 26, unitOf(s, false), t.faint, "end")
	return c.String()
}

// curvesOf are the names of the curves and the places on them, in all panels.
func curvesOf(panels []panel) (names []string, xs []float64) {
	for _, p := range panels {
		for _, m := range p.series {
			if !slices.Contains(names, m.Curve) {
				names = append(names, m.Curve)
			}
			if !slices.Contains(xs, m.X) {
				xs = append(xs, m.X)
			}
		}
	}
	slices.Sort(xs)
	return names, xs
}

func (c *canvas) legend(names []string) {
	for i, name := range names {
		x := 16 + 180*float64(i)
		c.line(x, 46, x+18, 46, 2.5, c.lines[i%len(c.lines)])
		c.label(x+24, 50, name, c.text, "start")
	}
}

func (c *canvas) curvePanel(p panel, s *bench.Scenario, names []string, xs []float64, top float64) {
	var values []float64
	for _, m := range p.series {
		values = append(values, bench.Median(m.Values[s.Metric]))
	}
	bottom := top + curveHeight - 40
	y := newScale(values, bottom, top+26)
	x := func(v float64) float64 {
		i := slices.Index(xs, v)
		return axisRoom + 30 + (width-axisRoom-90)*float64(i)/float64(max(1, len(xs)-1))
	}
	c.label(16, top+14, p.title, c.text, "start", `font-weight="600"`)
	for _, v := range y.ticks() {
		c.line(axisRoom, y.at(v), width-30, y.at(v), 1, c.grid)
		c.label(axisRoom-6, y.at(v)+4, round(v), c.faint, "end")
	}
	for _, v := range xs {
		c.label(x(v), bottom+17, bench.Thousands(v), c.faint, "middle")
	}
	for i, name := range names {
		colour := c.lines[i%len(c.lines)]
		var before *bench.Series
		for _, m := range p.series {
			if m.Curve != name {
				continue
			}
			at := y.at(bench.Median(m.Values[s.Metric]))
			if before != nil {
				c.line(x(before.X), y.at(bench.Median(before.Values[s.Metric])), x(m.X), at, 2, colour)
			}
			c.dot(x(m.X), at, colour)
			before = m
		}
	}
}
