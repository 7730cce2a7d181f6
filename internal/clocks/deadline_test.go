package clocks_test

import (
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
)

// A machine that slept has a monotonic clock that stood still, and a wall clock that was set has gone anywhere.
func TestADeadlineIsOverOnceEitherClockSaysSo(t *testing.T) {
	const lease = 10 * time.Second // 9 s of it are used
	start := clocks.Instant{Mono: time.Hour, Wall: time.Unix(1_000_000, 0)}
	for name, c := range map[string]struct {
		mono, wall time.Duration
		left       time.Duration
	}{
		"just begun":                  {0, 0, 9 * time.Second},
		"a moment before":             {8999 * time.Millisecond, 8999 * time.Millisecond, time.Millisecond},
		"both":                        {9 * time.Second, 9 * time.Second, 0},
		"the machine slept":           {time.Second, time.Hour, 9*time.Second - time.Hour},
		"the wall clock was set back": {9 * time.Second, -time.Hour, 0},
		"set back, and early":         {time.Second, -time.Hour, 8 * time.Second},
		"the wall clock is ahead":     {time.Second, 2 * time.Second, 7 * time.Second},
	} {
		now := start
		d := clocks.Deadline{Now: func() clocks.Instant { return now }}
		d.Extend(start, lease)
		now = clocks.Instant{Mono: start.Mono + c.mono, Wall: start.Wall.Add(c.wall)}
		if d.Left() != c.left || d.Over() != (c.left <= 0) {
			t.Errorf("%s: %v left, want %v; over is %v", name, d.Left(), c.left, d.Over())
		}
	}
}

func TestADeadlineGoesByItsLastExtension(t *testing.T) {
	now := clocks.Instant{Mono: time.Hour, Wall: time.Unix(1_000_000, 0)}
	d := clocks.Deadline{Now: func() clocks.Instant { return now }}
	if !d.Over() {
		t.Error("what was never owned has a deadline in the future")
	}
	d.Extend(now, 10*time.Second)
	now = clocks.Instant{Mono: now.Mono + 5*time.Second, Wall: now.Wall.Add(5 * time.Second)}
	d.Extend(now, 20*time.Second)
	if got, want := d.Left(), 18*time.Second; got != want {
		t.Errorf("%v left, want %v", got, want)
	}
}
