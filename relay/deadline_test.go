package relay

import (
	"testing"
	"time"
)

func TestADeadlineIsOverOnceEitherClockSaysSo(t *testing.T) {
	const lease = 10 * time.Second // 9 s of it are used
	start := instant{mono: time.Hour, wall: time.Unix(1_000_000, 0)}
	for name, c := range map[string]struct {
		mono, wall time.Duration
		over       bool
	}{
		"just begun":                  {0, 0, false},
		"a moment before":             {8999 * time.Millisecond, 8999 * time.Millisecond, false},
		"both":                        {9 * time.Second, 9 * time.Second, true},
		"the machine slept":           {time.Second, time.Hour, true},
		"the wall clock was set back": {9 * time.Second, -time.Hour, true},
		"set back, and early":         {time.Second, -time.Hour, false},
	} {
		now := start
		d := deadline{now: func() instant { return now }}
		d.extend(start, lease)
		now = instant{mono: start.mono + c.mono, wall: start.wall.Add(c.wall)}
		if d.over() != c.over {
			t.Errorf("%s: over is %v, %v left", name, d.over(), d.left())
		}
	}
	if d := (deadline{now: func() instant { return start }}); !d.over() {
		t.Error("what was never owned has a deadline in the future")
	}
}
