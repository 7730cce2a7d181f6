package relay

import (
	"sync/atomic"
	"time"
)

// instant is one moment on two clocks. Monotonic time stands still while the machine sleeps; wall time may be set.
type instant struct {
	mono time.Duration // since some fixed moment
	wall time.Time
}

// clock tells instants; tests put their own in.
type clock func() instant

// newClock reads both clocks of this machine.
func newClock() clock {
	start := time.Now()
	return func() instant {
		now := time.Now()
		return instant{mono: now.Sub(start), wall: now.Round(0)}
	}
}

// deadline is until when this process may believe that it owns something. It is judged by this machine's clocks, from
// the moment before the request was sent, less a margin: so it passes before the lease ends by the database's clock.
type deadline struct {
	now   clock
	limit atomic.Pointer[deadlineAt]
}

type deadlineAt struct {
	from instant
	d    time.Duration
}

// margin is the part of a lease that is not used, against clocks that run at different speeds and the time between
// the last look at the deadline and the hand-over.
func margin(lease time.Duration) time.Duration { return lease / 10 }

// extend sets the deadline to a lease that was asked for at from.
func (d *deadline) extend(from instant, lease time.Duration) {
	d.limit.Store(&deadlineAt{from: from, d: lease - margin(lease)})
}

// left is how much time remains by the clock that says less; zero or less means over.
func (d *deadline) left() time.Duration {
	at := d.limit.Load()
	if at == nil {
		return 0
	}
	now := d.now()
	passed := max(now.mono-at.from.mono, now.wall.Sub(at.from.wall))
	return at.d - passed
}

func (d *deadline) over() bool { return d.left() <= 0 }
