package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/feedno"
	"github.com/sqloutbox/sqloutbox/internal/plaintext"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

const (
	// By primary key. Whoever registers a cursor or purges holds it, so that neither overlooks the other.
	lockFeed = `SELECT value FROM {counters} WHERE name = '` + feedno.Epoch + `'{lock}`

	// By primary key.
	insertCursor = `INSERT INTO {cursors} (name, epoch, feed_seq) VALUES (?, ?, ?){ignore_name}`
	touchCursor  = `UPDATE {cursors} SET seen_ms = {clock}, version = version + 1 WHERE name = ?`
	holdCursor   = `UPDATE {cursors} SET hold_ms = ?, seen_ms = {clock}, version = version + 1 WHERE name = ?`
	moveCursor   = `UPDATE {cursors} SET epoch = ?, feed_seq = ?, seen_ms = {clock}, version = version + 1
WHERE name = ? AND epoch = ? AND feed_seq = ?`
	readCursor   = `SELECT epoch, feed_seq FROM {cursors} WHERE name = ?`
	deleteCursor = `DELETE FROM {cursors} WHERE name = ?`

	// A handful of rows.
	readCursors = `SELECT name, epoch, feed_seq, hold_ms, seen_ms,
       CASE WHEN hold_ms > 0 AND seen_ms + hold_ms > {clock} THEN 1 ELSE 0 END
FROM {cursors} ORDER BY name`
)

// MaxCursorLen bounds the name of a cursor, in bytes.
const MaxCursorLen = 128

// Register makes a named cursor at a position, for a reader that comes back. For as long as its last Register, Advance or
// Touch is younger than hold, purge keeps what it has not read; an abandoned cursor is not waited for, nor is one with hold
// 0. One of this name that is there already stays where it is, and only its hold is set: call it at each start.
//
// at is where a new one begins: Oldest for all that is kept, Head for what comes. The zero Cursor is the very beginning, and
// ErrGone once anything was purged.
//
// Errors: those of Read for the position, ErrNoFeed, ErrInvalidOptions.
func (f *Feed) Register(ctx context.Context, name string, at Cursor, hold time.Duration) error {
	err := checkCursorName(name)
	if err == nil && hold < 0 {
		err = fmt.Errorf("%w: hold %v: must not be negative", ErrInvalidOptions, hold)
	}
	if err == nil {
		err = txn.Run(ctx, f.o.db, f.o.dialect, func(tx dialect.Tx) error { return f.register(ctx, tx, name, at, hold) })
	}
	if err != nil {
		return fmt.Errorf("register cursor %q: %w", name, err)
	}
	return nil
}

func (f *Feed) register(ctx context.Context, tx dialect.Tx, name string, at Cursor, hold time.Duration) error {
	s, err := f.lock(ctx, tx)
	if err != nil {
		return err
	}
	_, err = f.position(ctx, tx, name)
	if errors.Is(err, ErrUnknownCursor) {
		if at, err = within(at, s); err != nil {
			return err
		}
		first, err := f.first(ctx, tx, s)
		if err != nil {
			return err
		}
		if at.Seq < first-1 {
			return &GoneError{Cursor{s.Epoch, first - 1}}
		}
		if _, err := rows.Exec(ctx, tx, f.o.sql.SQL(insertCursor), name, at.Epoch, at.Seq); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	_, err = rows.Exec(ctx, tx, f.o.sql.SQL(holdCursor), hold.Milliseconds(), name)
	return err
}

// lock keeps purge and new cursors off each other until tx ends.
func (f *Feed) lock(ctx context.Context, tx dialect.Tx) (feedno.State, error) {
	var epoch int64
	err := rows.One(ctx, tx, f.o.sql.SQL(lockFeed), nil, &epoch)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNoFeed
	}
	if err != nil {
		return feedno.State{}, err
	}
	return f.state(ctx, tx)
}

// Position is where a named cursor is. Errors: ErrUnknownCursor; ErrInvalidOptions for what can't be a name.
func (f *Feed) Position(ctx context.Context, name string) (Cursor, error) {
	if err := checkCursorName(name); err != nil {
		return Cursor{}, fmt.Errorf("position of cursor %q: %w", name, err)
	}
	if _, err := f.state(ctx, f.o.db); err != nil {
		return Cursor{}, fmt.Errorf("position of cursor %q: %w", name, err)
	}
	c, err := f.position(ctx, f.o.db, name)
	if err != nil {
		return Cursor{}, fmt.Errorf("position of cursor %q: %w", name, err)
	}
	return c, nil
}

func (f *Feed) position(ctx context.Context, q rows.Queryer, name string) (c Cursor, err error) {
	err = rows.One(ctx, q, f.o.sql.SQL(readCursor), []any{name}, &c.Epoch, &c.Seq)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrUnknownCursor
	}
	return c, err
}

// Advance moves a named cursor from one position to another, if it is still there: of two readers of one name only one gets
// on. It never goes back, and no further than the head. From a cursor of another epoch it may go anywhere in this one.
//
// Errors: ErrCursorMoved, ErrUnknownCursor, ErrAhead, ErrEpoch, ErrInvalidOptions where to lies before from or the name can't
// be one.
func (f *Feed) Advance(ctx context.Context, name string, from, to Cursor) error {
	if err := f.advance(ctx, name, from, to); err != nil {
		return fmt.Errorf("advance cursor %q: %w", name, err)
	}
	return nil
}

func (f *Feed) advance(ctx context.Context, name string, from, to Cursor) error {
	if err := checkCursorName(name); err != nil {
		return err
	}
	s, err := f.state(ctx, f.o.db)
	if err != nil {
		return err
	}
	if from == (Cursor{}) {
		from.Epoch = s.Epoch
	}
	if to, err = within(to, s); err != nil {
		return err
	}
	if from.Epoch == to.Epoch && to.Seq < from.Seq {
		return fmt.Errorf("%w: from %v to %v: a cursor never goes back", ErrInvalidOptions, from, to)
	}
	return f.change(ctx, name, ErrCursorMoved, moveCursor, to.Epoch, to.Seq, name, from.Epoch, from.Seq)
}

// Touch says that a reader is there, though it has not advanced. Errors: as of Position.
func (f *Feed) Touch(ctx context.Context, name string) error {
	if err := f.change(ctx, name, nil, touchCursor, name); err != nil {
		return fmt.Errorf("touch cursor %q: %w", name, err)
	}
	return nil
}

// Forget takes a named cursor away. Errors: as of Position.
func (f *Feed) Forget(ctx context.Context, name string) error {
	if err := f.change(ctx, name, nil, deleteCursor, name); err != nil {
		return fmt.Errorf("forget cursor %q: %w", name, err)
	}
	return nil
}

// change runs a statement on one cursor. Where it changes nothing the cursor is unknown, or else the error is unfit.
func (f *Feed) change(ctx context.Context, name string, unfit error, statement string, args ...any) error {
	if err := checkCursorName(name); err != nil {
		return err
	}
	return txn.Run(ctx, f.o.db, f.o.dialect, func(tx dialect.Tx) error {
		n, err := rows.Exec(ctx, tx, f.o.sql.SQL(statement), args...)
		if err != nil || n > 0 {
			return err
		}
		if _, err := f.state(ctx, tx); err != nil {
			return err
		}
		if _, err := f.position(ctx, tx, name); err != nil {
			return err
		}
		return unfit
	})
}

// CursorInfo is a named cursor as an operator sees it.
type CursorInfo struct {
	Name   string
	At     Cursor
	Behind int64         // events between it and the head; -1: it is of another epoch
	Hold   time.Duration // see Feed.Register
	SeenAt time.Time     // its last Register, Advance or Touch
	Active bool          // purge waits for it
}

// Cursors lists the named cursors by name.
func (f *Feed) Cursors(ctx context.Context) ([]CursorInfo, error) {
	var all []CursorInfo
	s, err := f.state(ctx, f.o.db)
	if err == nil {
		err = rows.Each(ctx, f.o.db, f.o.sql.SQL(readCursors), nil, func(row *sql.Rows) error {
			c := CursorInfo{Behind: -1}
			var hold, seen, active int64
			err := row.Scan(&c.Name, &c.At.Epoch, &c.At.Seq, &hold, &seen, &active)
			c.Hold, c.SeenAt = time.Duration(hold)*time.Millisecond, time.UnixMilli(seen)
			if c.At.Epoch == s.Epoch {
				c.Behind, c.Active = max(0, s.Head-c.At.Seq), active == 1
			}
			all = append(all, c)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("list cursors: %w", err)
	}
	return all, nil
}

func checkCursorName(name string) error {
	if reason := plaintext.BadName(name, MaxCursorLen); reason != "" {
		return fmt.Errorf("%w: the name %s", ErrInvalidOptions, reason)
	}
	return nil
}
