package outbox

import (
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// BenchmarkStats counts a million events, most of them published and kept. Filling takes about half a minute an engine.
// PostgreSQL is measured twice: with its visibility map up to date, as autovacuum leaves it, and without, when it looks
// at each row that it counts.
func BenchmarkStats(b *testing.B) {
	for _, name := range engines.Names() {
		b.Run(name, func(b *testing.B) {
			o, table := filled(b, engines.Get(b, name), 1_000_000)
			table.Analyse()
			if name == "postgres" {
				b.Run("before vacuum", func(b *testing.B) { benchmarkStats(b, o) })
				table.Exec("VACUUM {events}")
			}
			b.Run("settled", func(b *testing.B) { benchmarkStats(b, o) })
		})
	}
}

func benchmarkStats(b *testing.B, o *Outbox) {
	for b.Loop() {
		if _, err := o.Stats(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/call")
}
