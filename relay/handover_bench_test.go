package relay

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
)

// BenchmarkHandOver is what a call costs besides the publisher's work and the database's: 500 events of as many keys.
func BenchmarkHandOver(b *testing.B) {
	for _, order := range []Order{OrderPerKey, OrderNone} {
		b.Run(order.String(), func(b *testing.B) {
			opts := (&Options{Order: order, Concurrency: 400}).withDefaults()
			r := &Relay{opts: opts, limit: opts.MaxAttempts, now: clocks.New(), one: PublisherFunc(func(context.Context, Message) error { return nil })}
			h := r.newHand(b.Context())
			defer h.cancel(nil)
			guard := &clocks.Deadline{Now: r.now}
			guard.Extend(r.now(), time.Hour)
			events := make([]*event, 500)
			for i := range events {
				key := fmt.Sprint(i)
				events[i] = &event{scope: key, guard: guard}
			}
			b.ReportAllocs()
			for b.Loop() {
				h.expect(0)
				h.take(events)
				for {
					if done, left := h.state(); left == 0 && done == len(events) {
						break
					}
					<-h.news
				}
				h.collect()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
		})
	}
}
