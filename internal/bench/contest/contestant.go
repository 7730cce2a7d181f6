package contest

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Contestant is one way of handing events on.
type Contestant struct {
	Name     string   // short, as in tables
	Module   string   // Go module whose version is printed; empty: this library, or plain database/sql
	Kind     Kind     // what it is compared as
	Engines  []string // those that it supports; nil: all
	Settings string   // what was set in its favour
	Lacks    string   // what it does not guarantee, beside ours
	Open     func(ctx context.Context, p *Place) (System, error)
}

// Kind is what a contestant is compared as.
type Kind string

const (
	Ours  Kind = "ours"
	Limit Kind = "limit"
	Peer  Kind = "peer"
)

// On reports whether the contestant supports an engine.
func (c *Contestant) On(engine string) bool {
	return c.Engines == nil || slices.Contains(c.Engines, engine)
}

// Tuning is what a scenario asks of a contestant.
type Tuning struct {
	Batch       int
	Concurrency int  // hand-overs at once, where the contestant has such a thing; 0: what favours it
	Defaults    bool // the contestant's own default settings in place of what favours it
	Poll, Lease time.Duration
}

// System is a contestant on a database, with its tables. Start's stop ends what was started and waits for it: what was
// delivered is settled then.
type System interface {
	// Write puts events into a transaction of its own, beside a business row, and commits it.
	Write(ctx context.Context, events []Event) error
	// Fill puts in many events in as few transactions as is fit, and is not measured.
	Fill(ctx context.Context, b Batch) error
	Start(ctx context.Context, s *Sink, t Tuning) (stop func() error, err error)
	// Left counts the events that are not settled.
	Left(ctx context.Context) (int, error)
	// Clear takes away all events, settled or not, while nothing runs.
	Clear(ctx context.Context) error
	Close() error
}

// ErrUnsupported says that the contestant has no such thing; its place in the table stays empty.
var ErrUnsupported = errors.New("not supported")

// All are the contestants in the order of the tables.
func All() []Contestant {
	return slices.Concat(ours(), bare(), oagudoAll(), watermillAll(), riverAll(), goqiteAll())
}

// Find is the contestant of a name.
func Find(name string) (Contestant, bool) {
	all := All()
	i := slices.IndexFunc(all, func(c Contestant) bool { return c.Name == name })
	if i < 0 {
		return Contestant{}, false
	}
	return all[i], true
}
