package outbox

import (
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

// Outbox is the table of events and its writing API. It is safe for concurrent use and holds no connection between
// calls.
type Outbox struct {
	db      *sql.DB
	dialect dialect.Dialect
	opts    Options
	sql     *sqltext.Renderer
	guard   atomic.Int32 // whether the server has the dialect's guard

	mu     sync.Mutex // guards wakers
	wakers map[*attachment]struct{}

	news news // of the feed
}

// Waker is told that events may be waiting. Wake must not block.
type Waker interface{ Wake() }

type attachment struct{ w Waker }

// New makes an Outbox on db. It talks to no database: a server that is away now may be there later. Outbox.Check is the
// start-up check, which relay.Relay.Run makes by itself. migrations.Check, which nothing calls by itself, says more about
// the schema.
func New(db *sql.DB, d dialect.Dialect, opts *Options) (*Outbox, error) {
	o, err := newOutbox(db, d, opts)
	if err != nil {
		return nil, fmt.Errorf("new outbox: %w", err)
	}
	return o, nil
}

func newOutbox(db *sql.DB, d dialect.Dialect, opts *Options) (*Outbox, error) {
	if db == nil {
		return nil, fmt.Errorf("%w: db is nil", ErrInvalidOptions)
	}
	if d == nil {
		return nil, fmt.Errorf("%w: dialect is nil", ErrInvalidOptions)
	}
	o := opts.withDefaults()
	if err := o.validate(d.Name()); err != nil {
		return nil, err
	}
	return &Outbox{
		db:      db,
		dialect: d,
		opts:    o,
		sql:     sqltext.New(d, o.Schema, o.Prefix),
		wakers:  make(map[*attachment]struct{}),
	}, nil
}

// DB is the pool that the outbox was made with.
func (o *Outbox) DB() *sql.DB { return o.db }

// Dialect is the dialect that the outbox was made with.
func (o *Outbox) Dialect() dialect.Dialect { return o.dialect }

// Options are the options in force, defaults filled in.
func (o *Outbox) Options() Options { return o.opts }

// Table is the full name of one of the outbox's tables, such as "events", for queries of the host's own.
func (o *Outbox) Table(name string) string { return o.sql.Table(name) }

// Attach has w woken by every InTx that commits and by Wake, until detach is called. A relay attaches itself.
func (o *Outbox) Attach(w Waker) (detach func()) {
	a := &attachment{w}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wakers[a] = struct{}{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.wakers, a)
	}
}

// Wake tells the relays of this process to look now. Call it after committing a transaction that was not run by InTx,
// to save the poll interval; forgetting it costs time, never events. It doesn't block.
func (o *Outbox) Wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for a := range o.wakers {
		a.w.Wake()
	}
}
