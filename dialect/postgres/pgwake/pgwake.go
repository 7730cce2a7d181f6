// Package pgwake tells the relays of other processes at once that events were committed, by PostgreSQL's LISTEN and
// NOTIFY. It saves them the rest of their poll interval and nothing depends on it: a notice that is lost, late or one
// too many costs time or a look, never an event.
//
// A Notifier that is attached to an Outbox sends after each InTx that has committed and each Outbox.Wake; its Listen,
// in a process that runs relays, wakes them. Nothing is ever sent inside the host's transaction, since a transaction
// that notifies holds a lock of the whole server while it commits. (PostgreSQL source, async.c,
// PreCommit_Notify.) A Notifier sends on a connection of its own, at most once in ten milliseconds and without waiting
// for the disk, however many transactions commit.
//
// LISTEN belongs to a session, so that it hears nothing through a transaction pooler, and a hot standby refuses it: give
// a Notifier that listens the primary's own address. Sending works through a pooler.
package pgwake

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqloutbox/sqloutbox/internal/invalid"
)

// ErrInvalidOptions: New or Listen was given what it refuses. The message names it. It is outbox.ErrInvalidOptions.
var ErrInvalidOptions = invalid.ErrOptions

// Waker is told that events may be waiting, as a *relay.Relay is. Wake must not block.
type Waker interface{ Wake() }

// Notifier sends notices to a channel, and hears them. It is safe for concurrent use, and holds a connection only while
// it listens and for a minute after it has sent something.
type Notifier struct {
	config *pgx.ConnConfig // never changed; each connection takes a copy
	opts   Options
	log    *slog.Logger

	linger   time.Duration // how long the sender stays once there is nothing to send
	patience time.Duration // for one exchange with the server

	due     chan struct{} // holds one notice to be sent at most
	closing chan struct{}
	sender  sync.WaitGroup // the goroutine that sends

	mu      sync.Mutex // guards the rest
	sending bool       // there is a sender, or one is about to start
	closed  bool
}

// New makes a Notifier from what postgres.Open takes, a URL or a keyword string. It makes no connection and starts
// nothing. Errors: ErrInvalidOptions, also for a DSN that can't be understood.
func New(dsn string, opts *Options) (*Notifier, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil { // pgx leaves the password out of it
		return nil, fmt.Errorf("new notifier: %w: %w", ErrInvalidOptions, err)
	}
	o := opts.withDefaults()
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("new notifier: %w", err)
	}
	return &Notifier{
		config:   config,
		opts:     o,
		log:      o.Logger.With("channel", o.Channel),
		linger:   time.Minute,
		patience: 5 * time.Second,
		due:      make(chan struct{}, 1),
		closing:  make(chan struct{}),
	}, nil
}

// backoff is the wait after the n-th failure in a row, from 1: from 50 ms, doubling to about 6 s, with jitter of a quarter
// to either side, so that the programs that a server's restart has cut off do not come back in step.
func backoff(n int) time.Duration {
	d := 50 * time.Millisecond << min(n-1, 7)
	return d - d/4 + rand.N(d/2)
}

// pause waits for d, or until done is closed.
func pause(done <-chan struct{}, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}
