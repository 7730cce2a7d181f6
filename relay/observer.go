package relay

import (
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

// Observer implements one or more of the hook interfaces below. Hooks are called without any lock, transaction or
// connection held; most from the relay's own loop, which waits for them, so they must be quick. A relay in OrderNone
// and the keeper of its lease may call different hooks at once.
type Observer any

// ClaimedObserver is told when a batch was taken in hand.
type ClaimedObserver interface{ Claimed(events int) }

// PublishedObserver is told when an event was published and that is recorded. took is the time in the publisher; for a
// batch, that of the whole batch.
type PublishedObserver interface {
	Published(m Message, took time.Duration)
}

// FailedObserver is told when a hand-over failed and the event waits for its next try, or, with Unavailable, when the
// relay itself waits.
type FailedObserver interface {
	Failed(m Message, err error, next time.Duration)
}

// DeadObserver is told when an event became a dead letter. An event that couldn't even be read has only an ID and Seq.
type DeadObserver interface{ Dead(m Message, err error) }

// LeaseWonObserver is told when the relay became the owner of a lease: "total" in OrderTotal, a partition ("key/00" to
// "key/63") in OrderPerKey.
type LeaseWonObserver interface {
	LeaseWon(name string, token int64)
}

// LeaseLostObserver is told when the relay is no longer the owner; a nil error means that it gave the lease back.
type LeaseLostObserver interface {
	LeaseLost(name string, token int64, err error)
}

// RefusedObserver is told when outcomes were not recorded because the relay no longer owns the events. They are
// handed over again by the relay that owns them now.
type RefusedObserver interface{ Refused(events int) }

// StuckObserver is told when a publisher did not return within its time-out and grace.
type StuckObserver interface {
	Stuck(m Message, since time.Duration)
}

// hooks are the observers sorted by what they want to know.
type hooks struct {
	claimed   []ClaimedObserver
	published []PublishedObserver
	failed    []FailedObserver
	dead      []DeadObserver
	leaseWon  []LeaseWonObserver
	leaseLost []LeaseLostObserver
	refused   []RefusedObserver
	stuck     []StuckObserver

	handled       []HandledObserver
	rejected      []RejectedObserver
	handlerFailed []HandlerFailedObserver
	handlerDead   []HandlerDeadObserver
}

func newHooks(observers []Observer) hooks {
	var h hooks
	for _, o := range observers {
		h.add(o)
	}
	return h
}

// add reports whether o implements any hook.
func (h *hooks) add(o Observer) bool {
	known := appendIf(&h.claimed, o)
	known = appendIf(&h.published, o) || known
	known = appendIf(&h.failed, o) || known
	known = appendIf(&h.dead, o) || known
	known = appendIf(&h.leaseWon, o) || known
	known = appendIf(&h.leaseLost, o) || known
	known = appendIf(&h.refused, o) || known
	known = appendIf(&h.handled, o) || known
	known = appendIf(&h.rejected, o) || known
	known = appendIf(&h.handlerFailed, o) || known
	known = appendIf(&h.handlerDead, o) || known
	return appendIf(&h.stuck, o) || known
}

func appendIf[T any](list *[]T, o Observer) bool {
	t, ok := o.(T)
	if ok {
		*list = append(*list, t)
	}
	return ok
}

func validateObservers(observers []Observer) error {
	for i, o := range observers {
		var h hooks
		if !h.add(o) {
			return fmt.Errorf("%w: Observers[%d]: %T implements none of the hook interfaces", outbox.ErrInvalidOptions, i, o)
		}
	}
	return nil
}

func (r *Relay) claimed(n int) {
	for _, h := range r.hooks.claimed {
		h.Claimed(n)
	}
}
