package clocks_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
)

func TestBothClocksGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clocks.New()
		from := now()
		time.Sleep(time.Minute)
		to := now()
		if mono, wall := to.Mono-from.Mono, to.Wall.Sub(from.Wall); mono != time.Minute || wall != time.Minute {
			t.Errorf("a minute has passed: %v of monotonic time and %v of wall time", mono, wall)
		}
	})
}

// A time.Time that holds monotonic time as well is compared by that alone, and there would be one clock. Those of a synctest
// bubble hold none.
func TestTheWallClockIsReadForItself(t *testing.T) {
	if at := clocks.New()().Wall; at != at.Round(0) {
		t.Errorf("%v holds monotonic time", at)
	}
}
