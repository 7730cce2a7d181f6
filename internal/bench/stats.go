package bench

import (
	"math"
	"slices"
)

// Quantile is the q-quantile of values, between the two nearest; NaN of none.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

// Median is the 0.5-quantile.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Spread is how far the middle half of the rounds is apart, as a part of the median.
func Spread(values []float64) float64 {
	return (Quantile(values, 0.75) - Quantile(values, 0.25)) / Median(values)
}

// Ratios are a/b round by round: rounds stand side by side in time, so that what slows the machine down slows both. A
// round in which b has got nothing done has none.
func Ratios(a, b []float64) []float64 {
	n := min(len(a), len(b))
	out := make([]float64, 0, n)
	for i := range n {
		if b[i] > 0 {
			out = append(out, a[i]/b[i])
		}
	}
	return out
}
