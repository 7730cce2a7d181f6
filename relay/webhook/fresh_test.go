package webhook

import (
	"testing"
	"time"
)

// A machine that slept has a monotonic clock that stood still, and a wall clock that was set has gone anywhere.
func TestALeaseIsOverByTheClockThatSaysMore(t *testing.T) {
	from := moment{mono: time.Hour, wall: time.Unix(1_000_000, 0)}
	for _, c := range []struct {
		mono, wall time.Duration
		want       bool
	}{
		{0, 0, false},
		{34 * time.Second, 34 * time.Second, false},
		{35 * time.Second, 35 * time.Second, true}, // 54 of the 60 s are used, and a request may take 20
		{0, 35 * time.Second, true},
		{35 * time.Second, -time.Hour, true},
	} {
		at := moment{mono: from.mono + c.mono, wall: from.wall.Add(c.wall)}
		if got := at.over(from, time.Minute, 20*time.Second); got != c.want {
			t.Errorf("after %v, by the wall %v: over is %v", c.mono, c.wall, got)
		}
	}
}
