package outbox

import (
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/internal/invalid"
)

// Errors of Write and InTx.
var (
	// ErrNoTransaction: the transaction has ended, whether the host knows it or not: after a deadlock (MySQL,
	// MariaDB), an interrupted statement (SQLite), one that failed (PostgreSQL), a Commit or a Rollback. The call has
	// written nothing, and what was written before it stays only where the host has committed by itself. Roll back and run
	// the whole business transaction again.
	ErrNoTransaction = errors.New("the transaction is no longer open")
	// ErrDuplicate: an event with this id is in the outbox already, or twice in the call. On PostgreSQL the
	// transaction is aborted by it; set Options.IgnoreDuplicates where doubles are expected.
	ErrDuplicate = errors.New("an event with this id already exists")
	// ErrInvalidEvent: an event breaks a limit. The error in hand is an *InvalidEventError; the transaction was not
	// touched.
	ErrInvalidEvent = errors.New("invalid event")
)

// Errors of Check. Write has ErrSequenceBehind too.
var (
	// ErrSchema: a table or a column is missing. Run migrations.Up, or compare with migrations.Check.
	ErrSchema = errors.New("the outbox's tables are missing or behind")
	// ErrSequenceBehind: the numbering of seq is behind what is there, because rows were copied without it. On PostgreSQL
	// INSERTs that name their seq, as in a restore, and logical replication leave the sequence where it was: new events would
	// collide with the rows or be published before them. On every engine it is behind where all that is left of events are
	// the numbers that handlers, the feed or deliveries remember: new events would be taken for those. Nothing was written.
	// Check's error has the statement that mends it.
	ErrSequenceBehind = errors.New("the numbering of seq is behind what is there, as after a restore")
)

// ErrPauseTotal: a single topic can't be paused while a relay of relay.OrderTotal lives, since nothing may overtake what is
// paused. Pause AllTopics, or run the relays in another order.
var ErrPauseTotal = errors.New("a single topic can't be paused in OrderTotal")

// ErrUnhealthy: what is due is not handed on. The error in hand is an *UnhealthyError.
var ErrUnhealthy = errors.New("the outbox is not being drained")

// ErrUnknownHandler: no process has ever announced a handler of this name.
var ErrUnknownHandler = errors.New("no such handler")

// Errors of the feed. None of them goes away by trying again.
var (
	// ErrNoFeed: the feed is not on. A relay with Options.Feed turns it on when it starts, and so does Feed.BackFill.
	ErrNoFeed = errors.New("the outbox has no feed")
	// ErrGone: what comes next at this position is purged. The error in hand is a *GoneError.
	ErrGone = errors.New("this part of the feed is purged")
	// ErrAhead: the position is beyond the head of the feed.
	ErrAhead = errors.New("the position is beyond the head of the feed")
	// ErrEpoch: the position is of another epoch, as of before a restored backup. The error in hand is an *EpochError.
	ErrEpoch = errors.New("the position is of another epoch of the feed")
	// ErrCursor: a text is no cursor.
	ErrCursor = errors.New("not a cursor of a feed")
	// ErrUnknownCursor: no cursor of this name is registered.
	ErrUnknownCursor = errors.New("no such cursor")
	// ErrCursorMoved: a named cursor is not where the caller thinks, since another reader has moved it.
	ErrCursorMoved = errors.New("the cursor is elsewhere")
)

// GoneError says where the feed begins by now.
type GoneError struct {
	Oldest Cursor // read on from here; what lies between is lost to this reader
}

func (e *GoneError) Error() string {
	return fmt.Sprintf("%v: the oldest position is %v", ErrGone, e.Oldest)
}

// Is makes errors.Is(err, ErrGone) true.
func (e *GoneError) Is(target error) bool { return target == ErrGone }

// EpochError says which epoch the feed is in.
type EpochError struct{ Epoch int64 }

func (e *EpochError) Error() string { return fmt.Sprintf("%v: it is in %d now", ErrEpoch, e.Epoch) }

// Is makes errors.Is(err, ErrEpoch) true.
func (e *EpochError) Is(target error) bool { return target == ErrEpoch }

// ErrInvalidOptions: a constructor or a call was given what it refuses. The message names it. It is one error for all
// packages of this module: relay.New answers with it, and migrations.ErrInvalidOptions is the same.
var ErrInvalidOptions = invalid.ErrOptions

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
