// Package clocks judges how much time has passed by two clocks of this machine, neither of which can be trusted alone:
// monotonic time stands still while the machine sleeps, and wall time may be set. What owns something for a time goes by
// the one that says more, so that it stops too early rather than too late.
package clocks

import "time"

// Instant is one moment on two clocks.
type Instant struct {
	Mono time.Duration // since some fixed moment
	Wall time.Time
}

// Since is how much time has passed since from, by the clock that says more.
func (i Instant) Since(from Instant) time.Duration {
	return max(i.Mono-from.Mono, i.Wall.Sub(from.Wall))
}

// Clock tells instants; tests put their own in. It may be called from many goroutines at once.
type Clock func() Instant

// New reads both clocks of this machine. Instants of two Clocks can't be compared.
func New() Clock {
	start := time.Now()
	return func() Instant {
		now := time.Now()
		return Instant{Mono: now.Sub(start), Wall: now.Round(0)}
	}
}
