package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/fanout"
	"github.com/sqloutbox/sqloutbox/internal/invalid"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
	"github.com/sqloutbox/sqloutbox/internal/txn"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// Webhooks are the subscriptions of an outbox, and, while Run runs, workers that send what they are owed. Any number of
// processes may have some. All methods may be called from many goroutines at once.
type Webhooks struct {
	o      *outbox.Outbox
	own    *outbox.Outbox // o for this module's events: MaxPayload is for the host's
	opts   Options
	log    *slog.Logger
	sql    *sqltext.Renderer
	now    clocks.Clock
	client *client
	wake   chan struct{} // of capacity 1
	turns  chan struct{} // as many as may have a transaction at once
	reads  chan struct{} // as many as may read at once, outside of a turn

	changes atomic.Int64 // of subscriptions, by this process

	running sync.Mutex // held by Run: one at a time

	mu    sync.Mutex // guards what is below
	lanes map[int64]*lane
	group sync.WaitGroup // of lanes
}

// manyTurns and manyReads together bound the connections that workers have at once. Where there is one writer it is
// oneWriterTurns: there they take turns here, where who came first is first. SQLite lets those who wait sleep for longer and
// longer, and whoever comes goes before them.
const (
	manyTurns      = 4
	oneWriterTurns = 2
	manyReads      = 2
)

// New makes the webhooks of an outbox with Options.Feed. Nothing runs before Run. Errors: outbox.ErrInvalidOptions.
func New(o *outbox.Outbox, opts *Options) (*Webhooks, error) {
	if o == nil {
		return nil, fmt.Errorf("new webhooks: %w: the outbox is nil", invalid.ErrOptions)
	}
	if !o.Options().Feed {
		return nil, fmt.Errorf("new webhooks: %w: set Feed in outbox.Options: an event is for whoever is subscribed when it gets its number",
			invalid.ErrOptions)
	}
	options := opts.withDefaults()
	if err := options.validate(); err != nil {
		return nil, fmt.Errorf("new webhooks: %w", err)
	}
	of, turns := o.Options(), manyTurns
	of.MaxPayload = outbox.DefaultMaxPayload
	own, err := outbox.New(o.DB(), o.Dialect(), &of)
	if err != nil {
		return nil, fmt.Errorf("new webhooks: %w", err)
	}
	if o.Dialect().Lock() == "" {
		turns = oneWriterTurns
	}
	return &Webhooks{
		o:      o,
		own:    own,
		opts:   options,
		log:    options.Logger,
		sql:    sqltext.New(o.Dialect(), of.Schema, of.Prefix),
		now:    clocks.New(),
		client: newClient(&options),
		wake:   make(chan struct{}, 1),
		turns:  make(chan struct{}, turns),
		reads:  make(chan struct{}, manyReads),
		lanes:  make(map[int64]*lane),
	}, nil
}

// Wake has the workers look now. It doesn't block.
func (w *Webhooks) Wake() { signal(w.wake) }

// Published makes a Webhooks an observer of a relay of this process: with it in relay.Options.Observers, what the relay
// publishes goes out at once and not at the next Poll.
func (w *Webhooks) Published(relay.Message, time.Duration) { w.Wake() }

var _ relay.PublishedObserver = (*Webhooks)(nil)

// run runs fn in a transaction, again after a conflict.
func (w *Webhooks) run(ctx context.Context, fn func(tx dialect.Tx) error) error {
	return txn.Run(ctx, w.o.DB(), w.o.Dialect(), fn)
}

// changeList runs a statement over rows of a list, with args before it.
func (w *Webhooks) changeList(ctx context.Context, tx dialect.Tx, statement string, list []int64, before ...any) (int64, error) {
	text, args := w.sql.ListOf(statement, list, before, nil)
	return rows.Exec(ctx, tx, text, args...)
}

// change runs fn between two settles of relays: no event gets its number meanwhile. head is the last number.
func (w *Webhooks) change(ctx context.Context, fn func(tx dialect.Tx, head int64) error) error {
	err := w.run(ctx, func(tx dialect.Tx) error {
		head, err := fanout.Change(ctx, tx, w.sql)
		if err != nil {
			return err
		}
		return fn(tx, head)
	})
	w.changed()
	if err == nil {
		w.Wake()
	}
	return err
}

// changed has this process's lanes look at once whether a subscription is what they have claimed for.
func (w *Webhooks) changed() { w.changes.Add(1) }
