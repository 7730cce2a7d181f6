package relay

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// Relay hands events on from one outbox to one publisher. Its methods may be called from any goroutine, but of Run,
// RunOnce and Drain only one at a time.
type Relay struct {
	o       *outbox.Outbox
	own     *outbox.Outbox // o on the relay's pool
	db      *sql.DB
	d       dialect.Dialect
	sql     *sqltext.Renderer
	one     Publisher
	batch   BatchPublisher // set: one is not used
	opts    Options
	hooks   hooks
	log     *slog.Logger
	now     clock
	host    string
	running sync.Mutex // held by the one Run, RunOnce or Drain under way

	wake    chan struct{} // holds one wake-up at most
	refused atomic.Int64
	stuck   stuckCalls
}

// New makes a relay that hands the events of o to p; a p that is a BatchPublisher too is given batches. It talks to no
// database yet. Errors: outbox.ErrInvalidOptions.
func New(o *outbox.Outbox, p Publisher, opts *Options) (*Relay, error) {
	switch {
	case o == nil:
		return nil, fmt.Errorf("new relay: %w: the outbox is nil", outbox.ErrInvalidOptions)
	case p == nil:
		return nil, fmt.Errorf("new relay: %w: the publisher is nil", outbox.ErrInvalidOptions)
	}
	options := opts.withDefaults()
	if err := options.validate(); err != nil {
		return nil, fmt.Errorf("new relay: %w", err)
	}
	db := options.DB
	if db == nil {
		db = o.DB()
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	names := o.Options()
	own, err := outbox.New(db, o.Dialect(), &names)
	if err != nil {
		return nil, fmt.Errorf("new relay: %w", err)
	}
	r := &Relay{
		o:     o,
		own:   own,
		db:    db,
		d:     o.Dialect(),
		sql:   sqltext.New(o.Dialect(), names.Schema, names.Prefix),
		one:   p,
		opts:  options,
		hooks: newHooks(options.Observers),
		log:   options.Logger,
		now:   newClock(),
		host:  cutText(host, 255),
		wake:  make(chan struct{}, 1),
	}
	r.batch, _ = p.(BatchPublisher)
	return r, nil
}

// Wake makes the relay look now in place of waiting out its poll interval. It never blocks, and any number of calls
// before the relay looks count as one. InTx and Outbox.Wake call it for every relay that runs in this process.
func (r *Relay) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Refused is how many outcomes of this relay were not recorded because another relay owned the events by then. Those
// events are handed over again by that relay.
func (r *Relay) Refused() int64 { return r.refused.Load() }

func (r *Relay) refuse(events int) {
	if events == 0 {
		return
	}
	r.refused.Add(int64(events))
	r.log.Warn("outcomes refused: another relay owns the events by now", "events", events)
	for _, h := range r.hooks.refused {
		h.Refused(events)
	}
}

// bookkeeping is how long one piece of bookkeeping may take, all its retries included.
func (r *Relay) bookkeeping() time.Duration { return max(r.opts.Lease/3, 2*time.Second) }

// bounded keeps a statement on a connection that was dropped on the way from waiting for ever.
func (r *Relay) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, r.bookkeeping())
}
