package webhook

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/invalid"
)

// Options of Webhooks. Nil and zero fields mean the defaults; bad values are refused by New.
type Options struct {
	// Parallel is how many requests of one subscription that is not ordered are under way at once; default 8.
	Parallel int
	// Poll is how long workers wait before they look for deliveries again, where nothing wakes them; default 500 ms.
	Poll time.Duration
	// Timeout is for a whole request, from the name's resolution to the end of the answer; default 20 s, as the standard
	// recommends 15 to 30.
	Timeout time.Duration
	// Lease is for how long a worker's claim keeps others off; default 3 times Timeout, at least twice. So long after a
	// worker was killed, another one sends what it had claimed.
	Lease time.Duration
	// Schedule are the waits after the first failed try, the second, and so on; after the one that follows the last
	// wait a delivery is dead. Default, where this is nil: Schedule(), the standard's. Not nil and empty: one try. A wait of
	// less than a second can make two tries in one second, which a receiver with a Verifier can't tell from a replay.
	Schedule []time.Duration
	// Careful is the pause between two tries of a subscription whose last ten tries and more have all failed. It is tried one by
	// one then, so that it costs the others little; the first try that is done ends it. Default 100 ms.
	Careful time.Duration
	// MaxAnswer is how many bytes of an answer's body are read; one that is longer is a failure. Default 64 KiB.
	MaxAnswer int64
	// DisableAfter is for how long every try of a subscription must have failed, ten of them at least, before it is
	// disabled; default 5 days.
	DisableAfter time.Duration
	// KeepPaused is how many deliveries are kept for a subscription while it is paused; more are missed, which is counted
	// and said. Default 100,000. It and PausedHold are those of a subscription from when it is created or updated, where
	// Subscription says nothing else.
	KeepPaused int
	// PausedHold is for how long the pending deliveries of a paused or disabled subscription keep their events from being
	// purged, and themselves from being deleted; default 7 days.
	PausedHold time.Duration
	// Retention is how long a delivery is kept once it is done; default 7 days. DeadRetention, once it is dead: 30 days.
	Retention     time.Duration
	DeadRetention time.Duration

	// AllowHTTP lets URLs be http://, which anybody on the way can read.
	AllowHTTP bool
	// AllowPrivate lets endpoints be in inner networks and on this machine, for tests and for services that trust who
	// makes subscriptions. Link-local addresses, where clouds have their metadata, are refused all the same.
	AllowPrivate bool
	// RootCAs are who is believed about an endpoint's name; nil: the system's.
	RootCAs *x509.CertPool

	// Logger gets what an operator should know; default: silent.
	Logger *slog.Logger
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	set(&out.Parallel, 8)
	set(&out.Poll, 500*time.Millisecond)
	set(&out.Timeout, 20*time.Second)
	set(&out.Lease, 3*out.Timeout)
	set(&out.Careful, 100*time.Millisecond)
	set(&out.MaxAnswer, 64<<10)
	set(&out.DisableAfter, 5*24*time.Hour)
	set(&out.KeepPaused, 100_000)
	set(&out.PausedHold, 7*24*time.Hour)
	set(&out.Retention, 7*24*time.Hour)
	set(&out.DeadRetention, 30*24*time.Hour)
	if out.Schedule == nil {
		out.Schedule = Schedule()
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	return out
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o *Options) validate() error {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"Poll", o.Poll}, {"Timeout", o.Timeout}, {"Careful", o.Careful}, {"DisableAfter", o.DisableAfter}, {"PausedHold", o.PausedHold},
		{"Retention", o.Retention}, {"DeadRetention", o.DeadRetention},
	} {
		if d.value < time.Millisecond {
			return fmt.Errorf("%w: %s %v: must be a millisecond at least", invalid.ErrOptions, d.name, d.value)
		}
	}
	for i, d := range o.Schedule {
		if d < 0 {
			return fmt.Errorf("%w: Schedule[%d] %v: must not be negative", invalid.ErrOptions, i, d)
		}
	}
	switch {
	case o.Lease < 2*o.Timeout:
		return fmt.Errorf("%w: Lease %v: must be twice Timeout %v at least", invalid.ErrOptions, o.Lease, o.Timeout)
	case o.Parallel < 0 || o.Parallel > 256:
		return fmt.Errorf("%w: Parallel %d: must be 1 to 256", invalid.ErrOptions, o.Parallel)
	case o.MaxAnswer < 0:
		return fmt.Errorf("%w: MaxAnswer %d: must not be negative", invalid.ErrOptions, o.MaxAnswer)
	case o.KeepPaused < 0:
		return fmt.Errorf("%w: KeepPaused %d: must not be negative", invalid.ErrOptions, o.KeepPaused)
	}
	return nil
}
