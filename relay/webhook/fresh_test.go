package webhook

import (
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
)

// A machine that slept has a monotonic clock that stood still, and a wall clock that was set has gone anywhere.
func TestNoRequestIsBegunThatMayOutliveItsLease(t *testing.T) {
	from := clocks.Instant{Mono: time.Hour, Wall: time.Unix(1_000_000, 0)}
	for _, c := range []struct {
		mono, wall time.Duration
		want       bool
	}{
		{0, 0, false},
		{34 * time.Second, 34 * time.Second, false}, // to the moment: 54 of the 60 s are used, and a request may take 20
		{34*time.Second + 1, 34*time.Second + 1, true},
		{0, 35 * time.Second, true},
		{35 * time.Second, -time.Hour, true},
	} {
		now := from
		one := &claim{deadline: clocks.Deadline{Now: func() clocks.Instant { return now }}}
		one.deadline.Extend(from, time.Minute)
		now = clocks.Instant{Mono: from.Mono + c.mono, Wall: from.Wall.Add(c.wall)}
		if got := one.tooLate(20 * time.Second); got != c.want {
			t.Errorf("after %v, by the wall %v: too late is %v", c.mono, c.wall, got)
		}
	}
}
