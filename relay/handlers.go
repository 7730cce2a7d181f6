package relay

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// HandlersOptions of Handlers. Nil and zero fields mean the defaults.
type HandlersOptions struct {
	// RequireHandler leaves an event pending and untouched that no handler has; default false: it is published at once. An event
	// of this module's own, whose topic begins with "sqloutbox.", is published at once in any case: it is news for whoever
	// wants it, and nobody who requires handlers of their own topics is to be stopped by it.
	RequireHandler bool
	// DB is the pool that handlers' transactions are begun on, on the same database; default: the outbox's.
	DB *sql.DB
	// TxOptions are those of handlers' transactions; default: READ COMMITTED, whatever the database's own default is (SQLite
	// has but one isolation). REPEATABLE READ and above can cost attempts, where the engine refuses a transaction that another
	// was faster than; on PostgreSQL they also lock the event's row against its deletion meanwhile. ReadOnly is refused.
	TxOptions *sql.TxOptions
	// MaxHops bounds chains of events that cause events (see Caused); default 32.
	MaxHops int
}

// Handlers is a Publisher whose destination is this process: each event goes to the handlers that its topic has. It is
// published when all of them are done or have rejected it, and dead when one of them has used up its attempts. What
// became of an event in each of its handlers is recorded in the database, so that one that is done is not run again
// because another failed.
//
// Handlers are known to the database, and so to all processes. Where another release has handlers, or topics of one, that
// this one has not, an event waits, with its key, until a process that knows them has run them (see Relay.Run). What is
// gone for good is taken away by Outbox.RetireHandler: what is merely missing may be a release that is just restarting.
//
// Add all handlers, then give the Handlers to New: one relay's alone. Its pools must have their size by then.
type Handlers struct {
	o    *outbox.Outbox
	db   *sql.DB // of handlers' transactions
	own  *sql.DB // of the records
	d    dialect.Dialect
	sql  *sqltext.Renderer
	opts HandlersOptions
	// keyLock, if not empty, locks an event against a late owner's old snapshot.
	keyLock string

	mu     sync.Mutex // guards what follows until relay is set; it does not change from then on
	all    []*handler
	byName map[string]*handler
	relay  *Relay
	room   chan struct{} // for handlers' transactions; set with relay
	turns  chan struct{} // with one writer: for the handler that waits for room; set with relay

	gate    gate    // of all calls
	running running // all calls
	serving atomic.Bool
	late    sync.Map // first names of handlers that an event went by

	announcing sync.Mutex // guards announced, and the handlers' first
	announced  bool
	known      atomic.Pointer[map[string]*handler] // by their first names, once they are announced
}

type handler struct {
	Handler
	room  chan struct{} // Concurrency
	line  chan struct{} // for those that wait for room; nil: any number may
	queue queue         // those that did not get into the line
	first string        // the name that the database knows it by: its first
}

// NewHandlers makes a Publisher without handlers. Errors: outbox.ErrInvalidOptions.
func NewHandlers(o *outbox.Outbox, opts *HandlersOptions) (*Handlers, error) {
	if o == nil {
		return nil, fmt.Errorf("new handlers: %w: the outbox is nil", outbox.ErrInvalidOptions)
	}
	h := &Handlers{o: o, db: o.DB(), own: o.DB(), d: o.Dialect(), byName: make(map[string]*handler)}
	if opts != nil {
		h.opts = *opts
	}
	setDefault(&h.opts.MaxHops, 32)
	if h.opts.MaxHops < 1 {
		return nil, fmt.Errorf("new handlers: %w: MaxHops %d: must be at least 1", outbox.ErrInvalidOptions, h.opts.MaxHops)
	}
	if h.opts.TxOptions != nil && h.opts.TxOptions.ReadOnly {
		return nil, fmt.Errorf("new handlers: %w: TxOptions.ReadOnly: the record is written in the handler's transaction", outbox.ErrInvalidOptions)
	}
	if h.opts.DB != nil {
		h.db = h.opts.DB
	}
	names := o.Options()
	h.sql = sqltext.New(h.d, names.Schema, names.Prefix)
	if engine, ok := h.d.(dialect.KeyLocker); ok {
		h.keyLock = engine.LockKey()
	}
	return h, nil
}

// Handle adds a handler whose effects happen once. It begins with what is written from the first Announce on, or from the
// first start of a relay with it: Add has the other start rule. Errors: outbox.ErrInvalidOptions.
func (h *Handlers) Handle(name string, topics []string, fn HandlerFunc) error {
	return h.Add(Handler{Name: name, Topics: topics, Tx: fn})
}

// HandleNoTx adds a handler that talks to the outside: at least once. It begins like that of Handle.
// Errors: outbox.ErrInvalidOptions.
func (h *Handlers) HandleNoTx(name string, topics []string, fn func(ctx context.Context, m Message) error) error {
	return h.Add(Handler{Name: name, Topics: topics, NoTx: fn})
}

// Add adds a handler. Errors: outbox.ErrInvalidOptions.
func (h *Handlers) Add(one Handler) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.relay != nil {
		return fmt.Errorf("add handler %q: %w: add handlers before the relay is made", one.Name, outbox.ErrInvalidOptions)
	}
	if err := h.validate(one); err != nil {
		return fmt.Errorf("add handler %q: %w: %w", one.Name, outbox.ErrInvalidOptions, err)
	}
	one.Topics = slices.Clone(one.Topics)
	added := &handler{Handler: one}
	if one.Concurrency > 0 {
		added.room = make(chan struct{}, one.Concurrency)
	}
	h.all = append(h.all, added)
	h.byName[one.Name] = added
	return nil
}

// attach tells the handlers which relay they work for.
func (h *Handlers) attach(r *Relay) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.o != r.o:
		return fmt.Errorf("%w: the handlers are another outbox's", outbox.ErrInvalidOptions)
	case h.relay != nil:
		return fmt.Errorf("%w: the handlers are another relay's", outbox.ErrInvalidOptions)
	}
	if err := h.checkTimeouts(&r.opts); err != nil {
		return err
	}
	h.relay, h.own = r, r.db
	for _, own := range h.all {
		if own.room != nil && r.opts.Order != OrderTotal {
			own.line = make(chan struct{}, max(1, r.opts.Batch/2))
		}
	}
	h.room = make(chan struct{}, handlersAtOnce(h.db))
	if h.oneWriter() {
		h.room, h.turns = make(chan struct{}, 1), make(chan struct{}, 1)
		h.d = oneWriter{h.d, h.room}
	}
	return nil
}

// limit is how many attempts a handler has.
func (h *Handlers) limit(own *handler) int {
	if own.MaxAttempts > 0 {
		return own.MaxAttempts
	}
	return h.relay.opts.MaxAttempts
}
