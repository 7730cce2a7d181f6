package relay

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrHandlerEndedTx: a handler committed or rolled back the transaction that it was given. After a Commit what it had
	// written stays, and so the event is a dead letter at once.
	ErrHandlerEndedTx = errors.New("the handler ended its transaction")
	// ErrNoHandler: RequireHandler is set, and no handler has the event's topic.
	ErrNoHandler = errors.New("no handler has this topic")
	// ErrTooManyHops: the event was caused by an event that was caused … more than MaxHops times over.
	ErrTooManyHops = errors.New("too many hops")
	// ErrHandlerRetired: a handler of this name, or a topic that it has, is retired; Run returns it. Take another name for
	// another handler.
	ErrHandlerRetired = errors.New("the handler is retired")
	// ErrHandlerRenamed: two handlers of this process are one to the database, since one has a name that the other had before
	// it was renamed; Run returns it. Take another name for another handler.
	ErrHandlerRenamed = errors.New("the name is another handler's")
)

// postponedError leaves an event where it is, uncharged, and its key waits with it.
type postponedError struct {
	err       error
	wait      time.Duration
	elsewhere bool // for as long as a delivery is outstanding
}

func (e *postponedError) Error() string { return e.err.Error() }
func (e *postponedError) Unwrap() error { return e.err }

// retryError is a failure that says when the next try is due.
type retryError struct {
	err  error
	wait time.Duration
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

// handlerError says which handler failed.
type handlerError struct {
	handler string
	err     error
}

func (e *handlerError) Error() string { return fmt.Sprintf("handler %q: %v", e.handler, e.err) }
func (e *handlerError) Unwrap() error { return e.err }

func isPostponed(err error) bool {
	_, ok := errors.AsType[*postponedError](err)
	return ok
}

// isElsewhere reports whether an event waits for a process that serves.
func isElsewhere(err error) bool {
	var later *postponedError
	return errors.As(err, &later) && later.elsewhere
}
