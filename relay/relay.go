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
	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/fanout"
	"github.com/sqloutbox/sqloutbox/internal/plaintext"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// Relay hands events on from one outbox to one publisher. Its methods may be called from any goroutine, but of Run,
// RunOnce and Drain only one at a time.
type Relay struct {
	o        *outbox.Outbox
	own      *outbox.Outbox // o on the relay's pool
	db       *sql.DB
	d        dialect.Dialect
	sql      *sqltext.Renderer
	fanout   *fanout.Fanout
	one      Publisher
	handlers *Handlers      // one, if it is that
	limit    int            // attempts after which an event is given up
	single   bool           // one attempt may be all: the first crash must name its culprit
	batch    BatchPublisher // set: one is not used
	opts     Options
	hooks    hooks
	log      *slog.Logger

	filtersRows bool // see dialect.RowFilter
	now         clocks.Clock
	host        string
	running     sync.Mutex // held by the one Run, RunOnce or Drain under way

	wake        chan struct{} // holds one wake-up at most
	refused     atomic.Int64
	stuck       stuckCalls
	sessions    ownSessions
	unconfirmed []string // ids of sessions that may have a row, though it is not known; of the one that runs
	counts      counts
	pace        atomic.Int64 // ns a hand-over takes of late
	fanRows     atomic.Int64 // webhook deliveries that a turn may make, see portion
}

// New makes a relay that hands the events of o to p; a p that is a BatchPublisher too is given batches. It talks to no
// database yet. Where opts leave retries open, o's Options.Retry is taken. Errors: outbox.ErrInvalidOptions.
func New(o *outbox.Outbox, p Publisher, opts *Options) (*Relay, error) {
	if f, ok := p.(PublisherFunc); ok && f == nil {
		p = nil
	}
	switch {
	case o == nil:
		return nil, fmt.Errorf("new relay: %w: the outbox is nil", outbox.ErrInvalidOptions)
	case p == nil:
		return nil, fmt.Errorf("new relay: %w: the publisher is nil", outbox.ErrInvalidOptions)
	}
	options := opts.inheriting(o.Options().Retry).withDefaults()
	if err := options.validate(); err != nil {
		return nil, fmt.Errorf("new relay: %w", err)
	}
	if o.Options().Feed && options.Retention == 0 {
		return nil, fmt.Errorf("new relay: %w: Retention 0 with outbox.Options.Feed: a feed is read from what is kept: set Retention",
			outbox.ErrInvalidOptions)
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
	r := &Relay{
		o:     o,
		db:    db,
		d:     o.Dialect(),
		sql:   sqltext.New(o.Dialect(), names.Schema, names.Prefix),
		one:   p,
		opts:  options,
		hooks: newHooks(options.Observers),
		log:   options.Logger,
		now:   clocks.New(),
		host:  plaintext.Cut(host, 255),
		wake:  make(chan struct{}, 1),
	}
	f, ok := r.d.(dialect.RowFilter)
	r.filtersRows = ok && f.FiltersRows()
	r.fanout = fanout.New(r.sql, r.log)
	r.fanRows.Store(mostDeliveries)
	r.limit, r.single = options.MaxAttempts, options.MaxAttempts == 1
	if err := r.handTo(p); err != nil {
		return nil, fmt.Errorf("new relay: %w", err)
	}
	if r.own, err = outbox.New(db, r.d, &names); err != nil {
		return nil, fmt.Errorf("new relay: %w", err)
	}
	return r, nil
}

// handTo tells what the publisher can do beside taking one event.
func (r *Relay) handTo(p Publisher) error {
	r.batch, _ = p.(BatchPublisher)
	h, ok := p.(*Handlers)
	if !ok {
		return nil
	}
	if err := h.attach(r); err != nil {
		return err
	}
	r.handlers, r.d = h, h.d
	for _, one := range h.all {
		r.limit, r.single = max(r.limit, one.MaxAttempts), r.single || one.MaxAttempts == 1
	}
	return nil
}

// Wake makes the relay look now in place of waiting out its poll interval. It never blocks, and any number of calls
// before the relay looks count as one. InTx and Outbox.Wake call it for every relay that runs in this process.
func (r *Relay) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Refused is how many outcomes of this relay were not recorded because it no longer owned the events by then. Those
// events are handed over again by the relay that owns them now.
func (r *Relay) Refused() int64 { return r.refused.Load() }

func (r *Relay) refuse(events int) {
	if events == 0 {
		return
	}
	r.refused.Add(int64(events))
	r.counts.refused.Add(int64(events))
	r.log.Warn("outcomes came too late: the relay no longer owns the events", "events", events)
	for _, h := range r.hooks.refused {
		h.Refused(events)
	}
}

// places is how many hand-overs are made at once.
func (r *Relay) places() int { return max(r.opts.Concurrency, 1) }

// bookkeeping is how long one piece of bookkeeping may take, all its retries included.
func (r *Relay) bookkeeping() time.Duration { return max(r.opts.Lease/3, 2*time.Second) }

// bounded keeps a statement on a connection that was dropped on the way from waiting for ever.
func (r *Relay) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, r.bookkeeping())
}
