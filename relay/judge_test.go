package relay

import (
	"context"
	"errors"
	"fmt"
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

// What the relay cuts off is charged to nobody, by whichever name the publisher's library calls it.
func TestACallThatTheRelayCutOffIsNotCharged(t *testing.T) {
	r := &Relay{opts: (*Options)(nil).withDefaults(), limit: 1, now: clocks.New()}
	ctx, cancel := context.WithCancelCause(context.Background())
	cut := errors.New("cut")
	e := &event{msg: Message{Attempt: 1}}
	if out := r.judge(ctx, e, cut, 0); out.verdict != dead {
		t.Errorf("before it is cut off: %+v", out)
	}
	cancel(cut)
	for _, err := range []error{ctx.Err(), context.Cause(ctx), fmt.Errorf("post: %w", cut)} {
		if out := r.judge(ctx, e, err, 0); out.verdict != untouched {
			t.Errorf("%v: %+v", err, out)
		}
	}
	if out := r.judge(ctx, e, errors.New("its own"), 0); out.verdict != dead {
		t.Errorf("an error of its own: %+v", out)
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
