package relay

import (
	"math"
	"math/rand/v2"
	"time"
)

// backoff is the wait after the n-th failure (from 1): base doubled n-1 times, at most limit. It never overflows: it
// stops doubling before it could.
func backoff(base, limit time.Duration, n int) time.Duration {
	d := min(base, limit)
	for i := 1; i < n && d < limit; i++ {
		if d > limit/2 {
			return limit
		}
		d *= 2
	}
	return d
}

// jitter spreads d by a quarter to either side, anew each time, so that relays which were stopped by one stall do not
// go on in step.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	low := d - d/4
	return low + rand.N(min(d/2, math.MaxInt64-low-1)+1)
}
