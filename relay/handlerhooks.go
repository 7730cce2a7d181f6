package relay

import (
	"time"

	"github.com/sqloutbox/sqloutbox/internal/delivery"
)

// HandledObserver is told when a handler has handled an event, and that is recorded.
//
// It and the other observers of handlers are called where the handler was, from as many goroutines at once as run handlers,
// what other releases have left included. They must return soon: the event waits for them. took is the time of the call with
// its transaction. A process that ends between the record and the call of an observer has told nobody.
type HandledObserver interface {
	Handled(handler string, m Message, took time.Duration)
}

// RejectedObserver is told when a handler has rejected an event. It is called like HandledObserver.
type RejectedObserver interface {
	Rejected(handler string, m Message, err error, took time.Duration)
}

// HandlerFailedObserver is told when a handler failed and is tried again with the event. It is called like HandledObserver.
type HandlerFailedObserver interface {
	HandlerFailed(handler string, m Message, err error, took time.Duration)
}

// HandlerDeadObserver is told when a handler has used up its attempts, and the event is a dead letter. It is called like HandledObserver.
type HandlerDeadObserver interface {
	HandlerDead(handler string, m Message, err error, took time.Duration)
}

func (h *hooks) tellHandled(handler string, m Message, took time.Duration) {
	for _, o := range h.handled {
		o.Handled(handler, m, took)
	}
}

// tellHandler tells what came of a handler that is not done.
func (h *hooks) tellHandler(state int, handler string, m Message, err error, took time.Duration) {
	switch state {
	case delivery.Rejected:
		for _, o := range h.rejected {
			o.Rejected(handler, m, err, took)
		}
	case delivery.Dead:
		for _, o := range h.handlerDead {
			o.HandlerDead(handler, m, err, took)
		}
	default:
		for _, o := range h.handlerFailed {
			o.HandlerFailed(handler, m, err, took)
		}
	}
}
