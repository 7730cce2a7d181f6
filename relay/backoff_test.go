package relay

import (
	"math"
	"testing"
	"time"
)

func TestBackoffStaysWithinItsBoundsAndNeverShrinks(t *testing.T) {
	for _, base := range []time.Duration{1, time.Microsecond, time.Second, 24 * time.Hour, math.MaxInt64} {
		for _, limit := range []time.Duration{1, time.Second, 5 * time.Minute, math.MaxInt64} {
			last := time.Duration(0)
			for n := 1; n <= 10_000; n++ {
				d := backoff(base, limit, n)
				if d <= 0 || d > limit || d < last {
					t.Fatalf("backoff(%v, %v, %d) = %v after %v", base, limit, n, d, last)
				}
				last = d
			}
			if last != limit && base > 0 {
				t.Fatalf("backoff(%v, %v) ends at %v", base, limit, last)
			}
		}
	}
}

func TestBackoffDoubles(t *testing.T) {
	for n, want := range []time.Duration{1, 1, 2, 4, 8, 10, 10} {
		if got := backoff(time.Second, 10*time.Second, n); got != want*time.Second {
			t.Errorf("after %d failures: %v, want %v", n, got, want*time.Second)
		}
	}
}

func TestJitterSpreadsByAQuarterToEitherSide(t *testing.T) {
	const d = time.Second
	low, high := d, d
	for range 10_000 {
		j := jitter(d)
		low, high = min(low, j), max(high, j)
	}
	if low < 3*d/4 || high > 5*d/4 || low > 8*d/10 || high < 12*d/10 {
		t.Errorf("between %v and %v", low, high)
	}
	if jitter(0) != 0 || jitter(-1) != 0 {
		t.Error("a wait of nothing is not nothing")
	}
	for range 100 {
		if j := jitter(math.MaxInt64); j <= 0 {
			t.Fatalf("jitter overflows: %v", j)
		}
	}
}
