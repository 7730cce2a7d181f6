package bench

import (
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// The hot paths for benchstat:
//
//	go test -run '^$' -bench . -count 10 > new.txt; benchstat old.txt new.txt
//
// ENGINES=sqlite narrows them. Each is measured beside the bare SQL, since a disk is not the same from day to day.

// BenchmarkInsert is one Write in a transaction that is open; nothing is committed.
func BenchmarkInsert(b *testing.B) {
	for _, events := range []int{1, 100} {
		each(b, fmt.Sprintf("events=%d", events), []string{perKey, skipCheck, bareRead}, func(b *testing.B, l *Lane) {
			tx, err := l.Place.DB.BeginTx(b.Context(), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			batch := contest.Batch{Size: l.Sizes.Payload, Keys: l.Sizes.Keys}
			all := make([]contest.Event, events)
			for i := range all {
				all[i] = batch.Event(i)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := l.System.(inserter).Insert(b.Context(), tx, all); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWrite is a transaction with a business row and events, commit and all.
func BenchmarkWrite(b *testing.B) {
	for _, events := range []int{1, 100} {
		each(b, fmt.Sprintf("events=%d", events), []string{perKey, skipCheck, bareRead}, func(b *testing.B, l *Lane) {
			batch := contest.Batch{Size: l.Sizes.Payload, Keys: l.Sizes.Keys}
			all := make([]contest.Event, events)
			for i := range all {
				all[i] = batch.Event(i)
			}
			for b.Loop() {
				if err := l.System.Write(b.Context(), all); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDrain is one event through a relay whose publisher does nothing, by order.
func BenchmarkDrain(b *testing.B) {
	each(b, "", []string{total, perKey, none, bareRead, bareClaim}, func(b *testing.B, l *Lane) {
		if err := l.System.Clear(b.Context()); err != nil {
			b.Fatal(err)
		}
		if err := fill(b.Context(), l, 0, b.N, l.Sizes.Payload, 0); err != nil {
			b.Fatal(err)
		}
		sink := (&contest.Sink{Want: b.N}).Ready()
		b.ReportAllocs()
		b.ResetTimer()
		stop, err := l.System.Start(b.Context(), sink, contest.Tuning{Batch: l.Sizes.Batch})
		if err != nil {
			b.Fatal(err)
		}
		whole, err := sink.Await(b.Context(), 10*time.Minute)
		b.StopTimer()
		if err := stop(); err != nil || !whole {
			b.Fatal("delivered", sink.Count(), "of", b.N, err)
		}
		if err != nil {
			b.Fatal(err)
		}
	})
}

// each runs f for these contestants on each engine, on a database of its own.
func each(b *testing.B, name string, contestants []string, f func(b *testing.B, l *Lane)) {
	b.Setenv(engines.DirVariable, engines.DiskDir())
	for _, engine := range engines.Names() {
		for _, who := range contestants {
			c, ok := contest.Find(who)
			if !ok || !c.On(engine) {
				continue
			}
			b.Run(path.Join(name, engine, who), func(b *testing.B) {
				p, err := contest.NewPlace(b.Context(), engines.Get(b, engine))
				if err != nil {
					b.Fatal(err)
				}
				s, err := c.Open(b.Context(), p)
				if err != nil {
					b.Fatal(err)
				}
				l := &Lane{Place: p, System: s, Sizes: Full(), who: c}
				defer l.close()
				f(b, l)
			})
		}
	}
}
