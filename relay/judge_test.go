package relay

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
)

type needy struct{ p *int }

func (e *needy) Error() string { return "bad" }
func (e *needy) Unwrap() error { _ = *e.p; return nil }

// A nil pointer in an error is the commonest slip of all; its methods may panic.
func TestAnErrorWhoseMethodsPanicIsAFailure(t *testing.T) {
	r := &Relay{opts: (*Options)(nil).withDefaults(), limit: 11, now: clocks.New()}
	var typedNil *needy
	out := r.judge(context.Background(), &event{msg: Message{Attempt: 1}}, typedNil, 0)
	if out.verdict != failed || errorText(out.err) == "" {
		t.Errorf("%+v", out)
	}
}

func TestTimesOfAnySizeDoNotOverflow(t *testing.T) {
	const now = 1_800_000_000_000
	for due, want := range map[int64]func(time.Duration) bool{
		now:                 func(d time.Duration) bool { return d == 0 },
		now + 5:             func(d time.Duration) bool { return d == 5*time.Millisecond },
		now - 5:             func(d time.Duration) bool { return d == -5*time.Millisecond },
		253_402_300_799_000: func(d time.Duration) bool { return d > 100*365*24*time.Hour },
		math.MaxInt64:       func(d time.Duration) bool { return d > 100*365*24*time.Hour && d < never },
		-1:                  func(d time.Duration) bool { return d < 0 },
		math.MinInt64:       func(d time.Duration) bool { return d < 0 },
	} {
		if d := untilMillis(due, now); !want(d) {
			t.Errorf("until %d: %v", due, d)
		}
	}
}
