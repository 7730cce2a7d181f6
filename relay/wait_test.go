package relay

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestIdleWaitsGrowToTheirBoundAndAreJitteredAnew(t *testing.T) {
	o := (*Options)(nil).withDefaults()
	var w idleWait
	first := w.next(o)
	if first < 375*time.Millisecond || first > 625*time.Millisecond {
		t.Errorf("the first wait is %v, want about Poll", first)
	}
	for range 20 {
		w.next(o)
	}
	seen := map[time.Duration]bool{}
	for range 100 {
		d := w.next(o)
		if d < 3*o.PollMax/4 || d > 5*o.PollMax/4 {
			t.Fatalf("%v, want about PollMax (%v)", d, o.PollMax)
		}
		seen[d] = true
	}
	if len(seen) < 90 {
		t.Errorf("only %d different waits of 100", len(seen))
	}
	w.reset()
	if d := w.next(o); d > 625*time.Millisecond {
		t.Errorf("after work was found the wait is %v", d)
	}
}

// Twenty relays started by one event do not go on in step.
func TestPollersSpreadOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := (*Options)(nil).withDefaults()
		at := make([]time.Duration, 20)
		for i := range at {
			var w idleWait
			for range 10 {
				at[i] += w.next(o)
			}
		}
		low, high := at[0], at[0]
		for _, d := range at {
			low, high = min(low, d), max(high, d)
		}
		if high-low < o.Poll {
			t.Errorf("after ten rounds all poll within %v", high-low)
		}
	})
}

func TestAWakeCutsAWaitShortAndIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Relay{wake: make(chan struct{}, 1)}
		s := &session{gone: make(chan struct{})}
		r.Wake()
		r.Wake() // coalesces, and does not block
		start := time.Now()
		if !r.waitFor(t.Context(), s, time.Hour, true) || time.Since(start) != 0 {
			t.Errorf("woken before the wait: it took %v", time.Since(start))
		}
		go func() {
			time.Sleep(time.Second)
			r.Wake()
		}()
		if !r.waitFor(t.Context(), s, time.Hour, true) || time.Since(start) != time.Second {
			t.Errorf("woken in the wait: it took %v", time.Since(start))
		}
		start = time.Now()
		r.Wake()
		if r.waitFor(t.Context(), s, time.Minute, false) || time.Since(start) != time.Minute {
			t.Errorf("a wait for a destination was cut short to %v", time.Since(start))
		}
		close(s.gone)
		if r.waitFor(t.Context(), s, time.Hour, false) || time.Since(start) != time.Minute {
			t.Error("the wait outlived its session")
		}
	})
}
