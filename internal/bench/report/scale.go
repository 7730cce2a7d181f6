package report

import (
	"math"
	"strconv"

	"github.com/sqloutbox/sqloutbox/internal/bench"
)

// scale puts values on a line of pixels, by their logarithm where they are far apart.
type scale struct {
	low, high float64
	log       bool
	from, to  float64 // pixels
}

// farApart is from which ratio on a scale is logarithmic.
const farApart = 30

func newScale(values []float64, from, to float64) scale {
	low, high := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 {
			low = min(low, v)
		}
		high = max(high, v)
	}
	s := scale{high: high * 1.05, from: from, to: to}
	if high > 0 && high/low > farApart {
		s.log, s.low = true, math.Pow(10, math.Floor(math.Log10(low*0.9)))
	}
	if s.high == 0 {
		s.high = 1
	}
	return s
}

func (s scale) at(v float64) float64 {
	part := v / s.high
	if s.log {
		part = math.Log(max(v, s.low)/s.low) / math.Log(s.high/s.low)
	}
	return s.from + part*(s.to-s.from)
}

// ticks are round values on the scale.
func (s scale) ticks() []float64 {
	var out []float64
	if s.log {
		for v := s.low; v <= s.high; v *= 10 {
			out = append(out, v)
		}
		return out
	}
	step := math.Pow(10, math.Floor(math.Log10(s.high)))
	for s.high/step < 4 {
		step /= 2
	}
	for i := 0; float64(i)*step <= s.high; i++ {
		out = append(out, float64(i)*step)
	}
	return out
}

// short is a number with as many digits as can be told apart.
func short(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "–"
	case x >= 100 || x == 0:
		return bench.Thousands(x)
	case x >= 10:
		return fixed(x, 1)
	case x >= 0.1:
		return fixed(x, 2)
	}
	return fixed(x, 3)
}

// round is a tick's number, which has few digits.
func round(x float64) string {
	if x >= 1000 {
		return bench.Thousands(x)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
