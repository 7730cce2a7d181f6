package relay

import (
	"errors"
	"fmt"
	"time"
)

// Permanent marks an error that no retry will mend: the event becomes a dead letter at once. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// RetryAfter asks for the next try no sooner than d from now, in place of the backoff. The attempt counts. Of several handlers
// of an event each waits for its own time. A negative d means now. RetryAfter(d, nil) is nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &retryAfterError{err, max(d, 0)}
}

// Unavailable says that the destination is down, not that the event is at fault: no attempt is used up, and the relay
// waits with backoff before it tries again. Round a RetryAfter it waits that long. From a handler of Handlers it is about that
// one alone: its event waits, with its key, and the others go on. Unavailable(nil) is nil.
func Unavailable(err error) error {
	if err == nil {
		return nil
	}
	return &unavailableError{err}
}

type permanentError struct{ err error }

const permanentPrefix = "permanent: "

func (e *permanentError) Error() string { return permanentPrefix + e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

type retryAfterError struct {
	err error
	d   time.Duration
}

func (e *retryAfterError) Error() string { return fmt.Sprintf("retry after %v: %v", e.d, e.err) }
func (e *retryAfterError) Unwrap() error { return e.err }

type unavailableError struct{ err error }

func (e *unavailableError) Error() string { return "unavailable: " + e.err.Error() }
func (e *unavailableError) Unwrap() error { return e.err }

// IsPermanent reports whether err is marked by Permanent.
func IsPermanent(err error) bool {
	var e *permanentError
	return errors.As(err, &e)
}

// IsUnavailable reports whether err is marked by Unavailable.
func IsUnavailable(err error) bool {
	var e *unavailableError
	return errors.As(err, &e)
}

// RetryAfterOf is the wait that RetryAfter asked for.
func RetryAfterOf(err error) (d time.Duration, ok bool) {
	var e *retryAfterError
	if errors.As(err, &e) {
		return e.d, true
	}
	return 0, false
}

// Reject marks a business refusal: what the event asks for will not be done. A handler's refusal is recorded with its
// reason and never retried, what it wrote is rolled back, and the event goes on to its other handlers. From any other
// publisher it is like Permanent. Reject(nil) is nil.
func Reject(err error) error {
	if err == nil {
		return nil
	}
	return &rejectedError{err}
}

type rejectedError struct{ err error }

func (e *rejectedError) Error() string { return "rejected: " + e.err.Error() }
func (e *rejectedError) Unwrap() error { return e.err }

// IsRejected reports whether err is marked by Reject.
func IsRejected(err error) bool {
	var e *rejectedError
	return errors.As(err, &e)
}
