// Package txn runs the library's own short transactions: all of it or nothing, run again when the engine says that
// running it again is right.
package txn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// UnknownError says that COMMIT was sent and its answer is not known: the transaction may have happened. Whoever gets
// it reads the state again before acting on either guess.
type UnknownError struct{ Err error }

func (e *UnknownError) Error() string { return "commit: outcome unknown: " + e.Err.Error() }
func (e *UnknownError) Unwrap() error { return e.Err }

// IsUnknown reports whether err is or wraps an UnknownError.
func IsUnknown(err error) bool {
	var u *UnknownError
	return errors.As(err, &u)
}

// Once runs fn in one transaction. Any error means that all of it was rolled back, but for an UnknownError.
func Once(ctx context.Context, db *sql.DB, d dialect.Dialect, fn func(tx dialect.Tx) error) error {
	tx, err := d.Begin(ctx, db)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := fn(tx); err != nil {
		_ = tx.Rollback() // the connection is given up either way; fn's error is the one that says why
		return err
	}
	if err := tx.Commit(); err != nil {
		if d.Classify(err) == dialect.Conflict {
			return fmt.Errorf("commit: %w", err) // the engine itself says that it did not happen
		}
		return &UnknownError{err}
	}
	return nil
}

// Retry limits: a conflict clears up within milliseconds, so many short tries; the sum stays under a few seconds.
const (
	conflictTries = 12
	firstPause    = 2 * time.Millisecond
	longestPause  = 250 * time.Millisecond
)

// Run is Once, run again with jitter after a conflict, up to a bound. fn must be ready to start over. A lost
// connection is not retried here: the caller knows what may have happened meanwhile.
func Run(ctx context.Context, db *sql.DB, d dialect.Dialect, fn func(tx dialect.Tx) error) error {
	return Retry(ctx, d, func() error { return Once(ctx, db, d, fn) })
}

// Retry runs fn until it ends without a conflict, up to a bound.
func Retry(ctx context.Context, d dialect.Dialect, fn func() error) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := fn()
		if err == nil || IsUnknown(err) || d.Classify(err) != dialect.Conflict || try == conflictTries {
			return err
		}
		if !Pause(ctx, pause) {
			return err
		}
		pause = min(pause*2, longestPause)
	}
}

// Pause waits for d on average, spread so that those who collided don't meet again. It is false if ctx ended first.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
