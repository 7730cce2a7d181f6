package webhook_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// BenchmarkHealthyOfFifty is how the healthy ones of fifty endpoints fare beside five that are failing, hanging, resetting or
// refusing, against how they fare without these: TestHealthyEndpointsGetAllWhateverTheOthersDo as a measurement. Two workers
// serve them, and each is owed fanOutEvents from before they start. Reported are medians of rounds, so take -benchtime 3x or
// more; OUTBOX_TEST_FANOUT=2000 is the whole of it.
func BenchmarkHealthyOfFifty(b *testing.B) {
	for _, name := range engines.Names() {
		b.Run(name, func(b *testing.B) {
			e := engines.Get(b, name)
			var ratios, least []float64
			var alone, beside []float64
			for round := range b.N {
				with := round%2 == 1
				first := fifty(b, e, with)
				second := fifty(b, e, !with)
				if with {
					first, second = second, first
				}
				var each []float64
				for n, rate := range first {
					each = append(each, second[n]/rate)
				}
				ratios, least = append(ratios, median(each)), append(least, slices.Min(each))
				alone, beside = append(alone, median(first)), append(beside, median(second))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(ratios), "rate-ratio")
			b.ReportMetric(median(least), "least-ratio") // of the endpoint that suffers most
			b.ReportMetric(median(alone), "alone/s")
			b.ReportMetric(median(beside), "beside/s")
		})
	}
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// fifty answers the rates of the healthy endpoints, in events a second.
func fifty(b *testing.B, e *engines.Engine, withBad bool) (rates []float64) {
	events := fanOutEvents(b)
	s := newRateService(b, e)
	defer func() { _ = s.db.Close() }() // of many rounds
	var sites []*site
	for _, each := range fiftySites() {
		if withBad || each.well() {
			sites = append(sites, each)
		}
	}
	for n, each := range sites {
		defer s.open(each, fmt.Sprintf("%s %02d", each.kind, n))()
	}
	stop := s.relay()
	for range events / 20 {
		s.write("few", 2)
		s.write("most", 18)
	}
	s.until("all is owed", func() bool { return s.number(`SELECT COUNT(*) FROM {feed}`) == int64(events) })
	stop()
	start := time.Now()
	for range 2 {
		w := s.webhooks()
		defer s.background(w.Run)()
	}
	for part := 1; part <= 20; part++ { // each has its patience
		s.until(fmt.Sprint(part, "/20 have arrived"), func() bool {
			return !slices.ContainsFunc(sites, func(e *site) bool { n, _ := e.count(); return e.well() && n < events*part/20 })
		})
	}
	for _, each := range sites {
		if _, last := each.count(); each.well() {
			rates = append(rates, float64(events)/last.Sub(start).Seconds())
		}
	}
	return rates
}
