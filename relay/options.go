package relay

import (
	"database/sql"
	"fmt"
	"log/slog"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// Order is what a relay promises about the order of events.
type Order int

const (
	// OrderDefault is OrderPerKey.
	OrderDefault Order = iota
	// OrderTotal hands on the whole outbox in the order of insertion. One relay works at a time, by a lease; others
	// stand by. The first failure stops the pass: nothing overtakes it.
	OrderTotal
	// OrderPerKey hands on the events of a key one at a time in the order of insertion, and different keys side by side.
	// All relays work, each on a share of the keys. A failure holds its key alone. Events without a key have no order.
	OrderPerKey
	// OrderNone lets every relay work at once, by row claims, Options.Concurrency events at a time. A failure stops
	// nothing.
	OrderNone
)

func (o Order) String() string {
	switch o {
	case OrderDefault:
		return "default"
	case OrderTotal:
		return owners.Total
	case OrderPerKey:
		return owners.PerKey
	case OrderNone:
		return owners.None
	}
	return fmt.Sprintf("Order(%d)", int(o))
}

// DeadPolicy is what a dead letter means for the events behind it.
type DeadPolicy int

const (
	// SkipDead lets what is behind a dead letter flow.
	SkipDead DeadPolicy = iota
	// HoldKey holds what is behind a dead letter in its ordering scope (the whole outbox in OrderTotal) until it is
	// requeued or discarded. It means nothing in OrderNone, and New refuses it there.
	HoldKey
)

// Options of a Relay. Nil and zero fields mean the defaults; bad values are refused by New.
type Options struct {
	Order Order // default OrderPerKey

	// Poll is the first wait when nothing is due; default 500 ms. Waits grow from it, with jitter, up to PollMax; a
	// Wake or the next due time cuts them short.
	Poll time.Duration
	// PollMax bounds the idle waits; default four times Poll.
	PollMax time.Duration
	// Batch is how many events are read and settled together, 1 to 900; default 100. Two of them are in hand at most, or some
	// more beside a held key that has very many, and are read and settled as one, up to 900 events, where hand-overs take much less
	// time than the database does.
	Batch int
	// Concurrency is how many hand-overs are made at once; default 8. In OrderPerKey they are of different keys.
	// OrderTotal refuses it.
	Concurrency int
	// BatchInOrder says that the BatchPublisher hands on the events of a key in order and stops at the key's first
	// failure, so that in OrderPerKey a call may hold several events of a key; default false: one at most.
	BatchInOrder bool

	// Lease is how long an owner that says nothing keeps what it owns; default 30 s, at least 100 ms. A killed
	// relay's work goes on elsewhere after this time. It is renewed each third of it.
	Lease time.Duration

	// MaxAttempts is the number of hand-overs after which an event is a dead letter; default: the outbox's Options.Retry,
	// or else 11.
	MaxAttempts int
	// DeadLetterAfter keeps an event from being given up before its first failure is this old, however many attempts
	// were used up; default: the outbox's Options.Retry, or else 0. A zero can't override what the outbox says; a
	// millisecond comes close to it.
	DeadLetterAfter time.Duration
	// Backoff is the wait after the first failure; default: the outbox's Options.Retry, or else 1 s; never more than a
	// BackoffMax that is given here. It doubles with each attempt up to BackoffMax, with jitter of a quarter to either side.
	Backoff time.Duration
	// BackoffMax is the longest wait after a failure; default: the outbox's Options.Retry, or else 5 min; never less than a
	// Backoff that is given here.
	BackoffMax time.Duration
	// OnDead is what a dead letter means for what is behind it; default SkipDead.
	OnDead DeadPolicy

	// PublishTimeout ends the context of a hand-over; default 30 s. For a BatchPublisher it covers the whole batch. With
	// Handlers each handler has it for itself, and as much again to wait before it runs. A publisher that does not return within a grace of up to 5 s after it counts as
	// stuck: the hand-over counts as failed, and the event is not handed out again by this process before the call returns.
	PublishTimeout time.Duration
	// ShutdownTimeout bounds how long Run waits for hand-overs under way once its context has ended; default 10 s.
	// Then their contexts are cancelled.
	ShutdownTimeout time.Duration

	// Retention keeps published events for this long; default 0: they are deleted when they are settled.
	Retention time.Duration
	// DeadRetention deletes dead letters after this time; default 0: never.
	DeadRetention time.Duration
	// PurgeEvery is how often Run looks for what is too old, if there is a retention, and takes away what relays that fell
	// and their crashes have left behind; default 1 min. In OrderPerKey it is also how often a relay looks for rows whose
	// partition a writer of plain SQL has set wrong.
	PurgeEvery time.Duration

	// DB is a pool of the relay's own, on the same database, so that a host that uses up its pool can't starve the
	// lease; default: the outbox's.
	DB *sql.DB
	// Observers are told what happens; each implements one or more of the hook interfaces.
	Observers []Observer
	// Logger gets what an operator should know; default: silent.
	Logger *slog.Logger
}

// maxBatch is what one statement can name.
const maxBatch = sqltext.MaxList

// inheriting is o with an application's defaults in the fields that it leaves zero.
func (o *Options) inheriting(retry outbox.RetryDefaults) *Options {
	var out Options
	if o != nil {
		out = *o
	}
	setDefault(&out.MaxAttempts, retry.MaxAttempts)
	setDefault(&out.DeadLetterAfter, retry.DeadLetterAfter)
	setBackoff(&out, retry.Backoff, retry.BackoffMax)
	return &out
}

// setBackoff sets what is zero, so that it fits what is not.
func setBackoff(o *Options, base, limit time.Duration) {
	if o.BackoffMax > 0 {
		base = min(base, o.BackoffMax)
	}
	setDefault(&o.Backoff, base)
	if limit > 0 {
		limit = max(limit, o.Backoff)
	}
	setDefault(&o.BackoffMax, limit)
}

func (o *Options) withDefaults() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Order == OrderDefault {
		out.Order = OrderPerKey
	}
	setDefault(&out.Poll, 500*time.Millisecond)
	setDefault(&out.PollMax, 4*out.Poll)
	setDefault(&out.Batch, 100)
	if out.Order != OrderTotal {
		setDefault(&out.Concurrency, 8)
	}
	setDefault(&out.Lease, 30*time.Second)
	setDefault(&out.MaxAttempts, 11)
	setBackoff(&out, time.Second, 5*time.Minute)
	setDefault(&out.PublishTimeout, 30*time.Second)
	setDefault(&out.ShutdownTimeout, 10*time.Second)
	setDefault(&out.PurgeEvery, time.Minute)
	out.PublishTimeout, out.ShutdownTimeout = min(out.PublishTimeout, longest), min(out.ShutdownTimeout, longest)
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	return out
}

// longest is as good as for ever, and can be added to.
const longest = 100 * 365 * 24 * time.Hour

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o *Options) validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", outbox.ErrInvalidOptions, fmt.Sprintf(format, args...))
	}
	switch {
	case o.Order < OrderTotal || o.Order > OrderNone:
		return bad("Order %v is unknown", o.Order)
	case o.Batch < 1 || o.Batch > maxBatch:
		return bad("Batch %d: must be between 1 and %d", o.Batch, maxBatch)
	case o.Order == OrderTotal && o.Concurrency != 0:
		return bad("Concurrency %d: OrderTotal hands over one event at a time", o.Concurrency)
	case o.Order != OrderTotal && o.Concurrency < 1:
		return bad("Concurrency %d: must be at least 1", o.Concurrency)
	case o.Lease < 100*time.Millisecond:
		return bad("Lease %v: must be at least 100ms", o.Lease)
	case o.PollMax < o.Poll:
		return bad("PollMax %v is less than Poll %v", o.PollMax, o.Poll)
	case o.MaxAttempts < 1:
		return bad("MaxAttempts %d: must be at least 1", o.MaxAttempts)
	case o.BackoffMax < o.Backoff:
		return bad("BackoffMax %v is less than Backoff %v", o.BackoffMax, o.Backoff)
	case o.OnDead != SkipDead && o.OnDead != HoldKey:
		return bad("OnDead %d is unknown", o.OnDead)
	case o.OnDead == HoldKey && o.Order == OrderNone:
		return bad("OnDead: OrderNone has no order to hold; use SkipDead")
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"Poll", o.Poll}, {"Backoff", o.Backoff}, {"DeadLetterAfter", o.DeadLetterAfter},
		{"PublishTimeout", o.PublishTimeout}, {"ShutdownTimeout", o.ShutdownTimeout},
		{"Retention", o.Retention}, {"DeadRetention", o.DeadRetention}, {"PurgeEvery", o.PurgeEvery},
	} {
		if d.value < 0 {
			return bad("%s %v: must not be negative", d.name, d.value)
		}
	}
	return validateObservers(o.Observers)
}
