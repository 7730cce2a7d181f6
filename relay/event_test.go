package relay

import (
	"testing"
	"time"
)

// A statement's clock may be taken before its snapshot is: what committed between seems not to be due.
func TestWhatCommittedAfterTheClockWasReadIsNotDelayed(t *testing.T) {
	const now = 1_000_000
	row := func(created, due int64, attempt int, requeued bool) *event {
		return &event{due: due, readAt: now, msg: Message{Attempt: attempt, Requeued: requeued, CreatedAt: time.UnixMilli(created)}}
	}
	for name, c := range map[string]struct {
		e    *event
		want bool
	}{
		"just written":  {row(now+1, now+1, 1, false), true},
		"just requeued": {row(now-10, now+1, 1, true), true},
		"delayed":       {row(now-10, now+1, 1, false), false},
		"failed":        {row(now-10, now+1, 2, false), false},
		"failed again":  {row(now-10, now+1, 2, true), false},
	} {
		if got := c.e.neverDelayed(); got != c.want {
			t.Errorf("%s: never delayed is %v, want %v", name, got, c.want)
		}
	}
}
