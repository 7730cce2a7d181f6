package clocks

import (
	"sync/atomic"
	"time"
)

// Deadline is until when this process may believe that it owns something. It is judged by this machine's clocks, from
// the moment before the request was sent, less a margin: so it passes before the lease ends by the database's clock.
// It is over until it is extended for the first time, and may be extended and looked at from many goroutines at once.
type Deadline struct {
	Now   Clock // set before anything else
	limit atomic.Pointer[limit]
}

type limit struct {
	from Instant
	d    time.Duration
}

// Usable is the part of a lease that may be used: less a tenth, against clocks that run at different speeds and the time
// between the last look at the deadline and the hand-over.
func Usable(lease time.Duration) time.Duration { return lease - lease/10 }

// Extend sets the deadline to a lease that was asked for at from, by Now.
func (d *Deadline) Extend(from Instant, lease time.Duration) {
	d.limit.Store(&limit{from: from, d: Usable(lease)})
}

// Left is how much time remains by the clock that says less; zero or less means over.
func (d *Deadline) Left() time.Duration {
	at := d.limit.Load()
	if at == nil {
		return 0
	}
	return at.d - d.Now().Since(at.from)
}

// Over reports whether it has passed.
func (d *Deadline) Over() bool { return d.Left() <= 0 }
