package report

import (
	"slices"
	"strconv"

	"github.com/sqloutbox/sqloutbox/internal/bench"
)

func fixed(x float64, digits int) string { return strconv.FormatFloat(x, 'f', digits, 64) }

const (
	width    = 780.0
	nameRoom = 190.0 // for the contestants' names
	endRoom  = 90.0  // for the values
	barStep  = 20.0
	barSize  = 13.0
)

// bars has a panel an engine and a bar a contestant: the median, with a line from the lowest round to the highest.
func bars(panels []panel, s *bench.Scenario, t theme) string {
	height, values := 64.0, []float64{}
	for _, p := range panels {
		height += 30 + barStep*float64(len(p.series))
		for _, m := range p.series {
			values = append(values, m.Values[s.Metric]...)
		}
	}
	c := newCanvas(t, width, height+26, s.Title)
	x := newScale(values, nameRoom, width-endRoom)
	for _, v := range x.ticks() {
		c.line(x.at(v), 44, x.at(v), height, 1, t.grid)
		c.label(x.at(v), height+15, round(v), t.faint, "middle")
	}
	c.label(width-16, 26, unitOf(s, x.log), t.faint, "end")
	y := 44.0
	for _, p := range panels {
		y += 20
		c.label(16, y, p.title, t.text, "start", `font-weight="600"`)
		y += 8
		for _, m := range p.series {
			c.bar(x, y, m, s.Metric)
			y += barStep
		}
		y += 2
	}
	return c.String()
}

func (c *canvas) bar(x scale, y float64, m *bench.Series, metric string) {
	rounds := m.Values[metric]
	median, low, high := bench.Median(rounds), slices.Min(rounds), slices.Max(rounds)
	c.label(nameRoom-8, y+barSize-2, m.Label, c.text, "end")
	c.rect(x.from, y, max(1, x.at(median)-x.from), barSize, c.kinds[m.Kind])
	middle := y + barSize/2
	if high > low {
		c.line(x.at(low), middle, x.at(high), middle, 1.5, c.whisker)
	}
	c.label(x.at(high)+6, y+barSize-2, short(median), c.faint, "start")
}

func unitOf(s *bench.Scenario, log bool) string {
	text := s.Unit
	if s.Lower {
		text += ", less is better"
	} else {
		text += ", more is better"
	}
	if log {
		text += "; logarithmic"
	}
	return text
}
