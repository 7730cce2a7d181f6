package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/feedno"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

const (
	// The first entry of the primary key.
	oldestNumber = `SELECT COALESCE((SELECT feed_seq FROM {feed} ORDER BY feed_seq LIMIT 1), 0)`

	// By primary key. The clock names an epoch; it may have been set back.
	nextEpoch = `UPDATE {counters} SET value = CASE WHEN value < {clock} THEN {clock} ELSE value + 1 END, at_ms = {clock}
WHERE name = '` + feedno.Epoch + `'`
)

// Feed is the numbered log of what was published: 1, 2, 3 and so on without a gap, in the order of publication, which is
// that of the events of each key. A number is never given twice, is never seen before a lower one, and survives purge,
// dump and restore. Relays with Options.Feed write it, and what Retention keeps of it anybody can read, at any pace.
//
// It is safe for concurrent use, and holds no connection between calls. Where the feed is not on, every method answers
// ErrNoFeed, but for BackFill, which turns it on, as the first relay with Options.Feed does, and package webhook's Create.
//
// A relay checks by itself whether the database will do. A process that only reads calls Outbox.Check when it starts: in MySQL's
// READ UNCOMMITTED a reader would see numbers of a settle that is rolled back, and miss the event that gets one later.
type Feed struct{ o *Outbox }

// FeedEvent is a published event with its place in the feed.
type FeedEvent struct {
	Cursor      Cursor // the position behind it
	Event       Event  // Delay is zero; Headers are nil when they can't be decoded
	Seq         int64  // that a relay.Message of it has
	CreatedAt   time.Time
	PublishedAt time.Time // when it got its number
}

// Feed is the outbox's feed.
func (o *Outbox) Feed() *Feed { return &Feed{o} }

// Outbox is the outbox that the feed is of.
func (f *Feed) Outbox() *Outbox { return f.o }

// Head is the position behind all that is published: begin here for what comes.
func (f *Feed) Head(ctx context.Context) (Cursor, error) {
	s, err := f.state(ctx, f.o.db)
	if err != nil {
		return Cursor{}, fmt.Errorf("feed head: %w", err)
	}
	return Cursor{s.Epoch, s.Head}, nil
}

// Oldest is the position before all that is kept: begin here for all there is.
func (f *Feed) Oldest(ctx context.Context) (Cursor, error) {
	c, err := f.oldest(ctx)
	if err != nil {
		return Cursor{}, fmt.Errorf("feed oldest: %w", err)
	}
	return c, nil
}

func (f *Feed) oldest(ctx context.Context) (Cursor, error) {
	s, err := f.state(ctx, f.o.db) // before the oldest: what is published in between is kept
	if err != nil {
		return Cursor{}, err
	}
	first, err := f.first(ctx, f.o.db, s)
	return Cursor{s.Epoch, first - 1}, err
}

// first is the lowest number that is kept, or the next one if none is.
func (f *Feed) first(ctx context.Context, q rows.Queryer, s feedno.State) (first int64, err error) {
	if err := rows.One(ctx, q, f.o.sql.SQL(oldestNumber), nil, &first); err != nil {
		return 0, err
	}
	if first == 0 {
		first = s.Head + 1
	}
	return first, nil
}

// NewEpoch begins a new epoch, and answers its head. Call it when a backup was restored: events that readers have seen are
// lost then, and their numbers are given again. Numbers go on; cursors of before are ErrEpoch, so that each reader finds out
// and can begin at Oldest, or compare by the ids of the events.
func (f *Feed) NewEpoch(ctx context.Context) (Cursor, error) {
	var s feedno.State
	err := txn.Run(ctx, f.o.db, f.o.dialect, func(tx dialect.Tx) (err error) {
		if _, err = rows.Exec(ctx, tx, f.o.sql.SQL(nextEpoch)); err == nil {
			s, err = f.state(ctx, tx)
		}
		return err
	})
	if err != nil {
		return Cursor{}, fmt.Errorf("new epoch: %w", err)
	}
	return Cursor{s.Epoch, s.Head}, nil
}

func (f *Feed) state(ctx context.Context, q rows.Queryer) (feedno.State, error) {
	s, on, err := feedno.Read(ctx, q, f.o.sql)
	if err == nil && !on {
		err = ErrNoFeed
	}
	return s, err
}

// within checks a position against the state of the feed, and gives the zero Cursor its epoch.
func within(c Cursor, s feedno.State) (Cursor, error) {
	if c == (Cursor{}) {
		c.Epoch = s.Epoch
	}
	switch {
	case c.Epoch != s.Epoch:
		return c, &EpochError{s.Epoch}
	case c.Seq > s.Head:
		return c, fmt.Errorf("%w: %v, and the head is %v", ErrAhead, c, Cursor{s.Epoch, s.Head})
	case c.Seq < 0:
		return c, fmt.Errorf("%w: %v", ErrCursor, c)
	}
	return c, nil
}
