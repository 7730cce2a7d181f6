package relay

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/plaintext"
	"github.com/sqloutbox/sqloutbox/internal/topics"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// HandlerFunc handles an event in a transaction. What it writes there commits together with the note that it has handled
// the event, so that its effects happen once however often the event is handed over. The transaction is the relay's to
// end: a handler that ends it itself has failed. It must return soon after ctx ends; the transaction is rolled back then.
//
// It holds a connection, and on SQLite the only right to write, for as long as it runs: everybody else's writes wait
// meanwhile, and it is cut off after a quarter of the relay's Lease. So it must be short there; what is slow belongs into a
// handler with NoTx. Where the pool has one connection, all that it asks of the database must go through tx. On SQLite never
// write outside of tx, as with Outbox.InTx: that would wait for the handler's own transaction until its time is over.
type HandlerFunc func(ctx context.Context, tx *sql.Tx, m Message) error

// From is which events a handler has that is new to the database.
type From int

const (
	// FromNow: those that are written from the first start of a relay with it on, or from Handlers.Announce on, by seq.
	FromNow From = iota
	// FromOldest: also those that are pending, and those that are published and kept by Retention, in their old order.
	FromOldest
)

// Handler is a consumer of events in this process. Exactly one of Tx and NoTx is set.
type Handler struct {
	Name   string      // known to the database, unique, at most 128 bytes
	Topics []string    // exact names, or patterns: "orders.*" is all that begins with "orders.", "*" is everything
	Tx     HandlerFunc // its effects happen once
	// NoTx talks to the outside: it is recorded after it has returned, and so its effects may happen twice. It holds no
	// transaction and no connection.
	NoTx func(ctx context.Context, m Message) error

	From       From   // where it begins when it is new, and a topic that is new to it; default FromNow
	FormerName string // its name in the release before: both are one handler, and neither is to be had for another one

	// MaxAttempts after which the event is a dead letter, if it is old enough for Options.DeadLetterAfter; default: the
	// relay's. They are this handler's own calls with the event; a crash counts against the one that ran.
	MaxAttempts int
	// Timeout of one call, from when it begins to run: what it waits for before, such as its Concurrency or a connection, is
	// not counted, nor charged. Default: the relay's PublishTimeout, but with Tx on SQLite no more than a quarter of the Lease,
	// which can't be renewed while it writes. New refuses more than that. A call that is cut off has failed.
	Timeout time.Duration
	// Concurrency is how many calls are made at once in this process; default: as many as the relay makes. Calls that wait for
	// their turn keep no place of the relay's own Concurrency from other handlers.
	Concurrency int
}

func (h *Handlers) validate(one Handler) error {
	switch {
	case h.byName[one.Name] != nil:
		return fmt.Errorf("the name is taken")
	case one.FormerName == one.Name:
		return fmt.Errorf("the FormerName is its name")
	case (one.Tx == nil) == (one.NoTx == nil):
		return fmt.Errorf("exactly one of Tx and NoTx must be set")
	case len(one.Topics) == 0:
		return fmt.Errorf("no topics")
	case one.From != FromNow && one.From != FromOldest:
		return fmt.Errorf("From %d is unknown", one.From)
	case one.MaxAttempts < 0 || one.Timeout < 0 || one.Concurrency < 0:
		return fmt.Errorf("MaxAttempts, Timeout and Concurrency must not be negative")
	}
	if reason := plaintext.BadName(one.Name, outbox.MaxIDLen); reason != "" {
		return fmt.Errorf("the Name %s", reason)
	}
	if reason := plaintext.Bad(one.FormerName, outbox.MaxIDLen); reason != "" {
		return fmt.Errorf("the FormerName %s", reason)
	}
	for _, pattern := range one.Topics {
		if err := topics.Check(pattern); err != nil {
			return err
		}
	}
	return nil
}
