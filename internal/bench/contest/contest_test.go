package contest

import (
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
)

var everywhere = flag.Bool("everywhere", false, "test on all engines, not on SQLite alone")

// Every contestant delivers everything once, and has nothing left when it is stopped.
func TestContestantsDeliverAll(t *testing.T) {
	names := []string{"sqlite"}
	if *everywhere {
		names = engines.Names()
	}
	for _, name := range names {
		for _, c := range All() {
			if c.On(name) {
				t.Run(name+"/"+c.Name, func(t *testing.T) { deliverAll(t, engines.Get(t, name), c) })
			}
		}
	}
}

func deliverAll(t *testing.T, e *engines.Engine, c Contestant) {
	ctx := t.Context()
	p, err := NewPlace(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s, err := c.Open(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const filled, written = 150, 3
	if err := s.Fill(ctx, Batch{N: filled, Size: 64, Keys: 10}); err != nil {
		t.Fatal(err)
	}
	sink := (&Sink{Want: filled + written}).Ready()
	stop, err := s.Start(ctx, sink, Tuning{Batch: 50, Concurrency: 8})
	if err != nil {
		t.Fatal(err)
	}
	for i := range written {
		if err := s.Write(ctx, []Event{Batch{From: filled}.Event(i)}); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := sink.Await(ctx, 20*time.Second)
	if err := errors.Join(err, Settled(ctx, s), stop()); err != nil {
		t.Fatal(err)
	}
	left, err := s.Left(ctx)
	if !whole || sink.Doubles()+sink.Strays() > 0 || left > 0 || err != nil {
		t.Errorf("delivered %d of %d, doubles %d, strays %d, left %d, %v",
			sink.Count(), filled+written, sink.Doubles(), sink.Strays(), left, err)
	}
	if err := s.Clear(ctx); err != nil {
		t.Error(err)
	}
}
