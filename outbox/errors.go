package outbox

import (
	"errors"
	"fmt"
)

// Errors of Write and InTx.
var (
	// ErrNoTransaction: the transaction has ended, whether the host knows it or not: after a deadlock (MySQL,
	// MariaDB), an interrupted statement (SQLite), a Commit or a Rollback. Nothing was written. Roll back and run the
	// whole business transaction again.
	ErrNoTransaction = errors.New("the transaction is no longer open")
	// ErrDuplicate: an event with this id is in the outbox already, or twice in the call. On PostgreSQL the
	// transaction is aborted by it; set Options.IgnoreDuplicates where doubles are expected.
	ErrDuplicate = errors.New("an event with this id already exists")
	// ErrInvalidEvent: an event breaks a limit. The error in hand is an *InvalidEventError; the transaction was not
	// touched.
	ErrInvalidEvent = errors.New("invalid event")
)

// ErrInvalidOptions: a constructor or a call was given options that it refuses. The message names the field.
var ErrInvalidOptions = errors.New("invalid options")

// InvalidEventError says which event of a Write breaks which limit.
type InvalidEventError struct {
	Index  int    // position in the call, from 0
	Field  string // "ID", "Topic", "Key", "Payload", "Headers" or "Delay"
	Reason string
}

func (e *InvalidEventError) Error() string {
	return fmt.Sprintf("event %d: %s %s", e.Index, e.Field, e.Reason)
}

// Is makes errors.Is(err, ErrInvalidEvent) true.
func (e *InvalidEventError) Is(target error) bool { return target == ErrInvalidEvent }
