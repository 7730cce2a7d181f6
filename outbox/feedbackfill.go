package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/feedno"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

const (
	// By (state, seq, partition_no).
	publishedPage = `SELECT seq, feed_seq FROM {events}{use_pending} WHERE state > 0 AND state < 2 AND seq > ? ORDER BY state, seq LIMIT ?`
	countBehind   = `SELECT COUNT(*) FROM {events}{use_pending} WHERE state > 0 AND state < 2 AND seq > ?`
	// By primary key, in its order. Others may number or purge them, or put them back.
	lockUnnumbered = `SELECT seq, settled_ms FROM {events}{use_key} WHERE seq IN ({list}) AND state = 1 AND feed_seq = 0 ORDER BY seq{lock}`
	setNumbers     = `{update_events} SET feed_seq = (SELECT f.feed_seq FROM {feed} f WHERE f.seq = {events}.seq)
WHERE seq IN ({list}) AND state = 1 AND feed_seq = 0`

	// By primary key. How far a pass has come, and when it last numbered something; 0: it has not. Each step holds it, so
	// that of two back-fills each does a part.
	insertFill = `INSERT INTO {counters} (name) VALUES ('` + feedno.Fill + `'){ignore_name}`
	readFill   = `SELECT value, at_ms FROM {counters} WHERE name = '` + feedno.Fill + `'`
	lockFill   = readFill + `{lock}`
	moveFill   = `UPDATE {counters} SET value = ? WHERE name = '` + feedno.Fill + `'`
	markFill   = `UPDATE {counters} SET value = ?, at_ms = {clock} WHERE name = '` + feedno.Fill + `'`
	endFill    = `UPDATE {counters} SET value = 0, at_ms = 0 WHERE name = '` + feedno.Fill + `'`
)

// BackFill numbers what was published without a number, before the feed was on or by relays of an older release, in the
// order of insertion. It works in steps that commit by themselves, beside relays that work, and does nothing twice. How far it
// has come stands in the database: one that was cut off goes on there when it is called again, and two at once share the
// work. It ends when a whole pass, over one call or several, has found nothing to do; what relays without a feed publish
// meanwhile behind it may need another call. progress, if not nil, is told at the beginning and after each step how many of
// the published events have been looked at, and how many there were at the beginning.
//
// What relays publish meanwhile is numbered before what is left to do: to have the feed in the order of each key from the
// beginning, fill it before the first relay with Options.Feed starts. BackFill turns the feed on.
func (f *Feed) BackFill(ctx context.Context, progress func(done, total int64)) error {
	if err := f.backFill(ctx, progress); err != nil {
		return fmt.Errorf("back-fill: %w", err)
	}
	return nil
}

func (f *Feed) backFill(ctx context.Context, progress func(done, total int64)) error {
	err := txn.Run(ctx, f.o.db, f.o.dialect, func(tx dialect.Tx) error { return feedno.TurnOn(ctx, tx, f.o.sql) })
	if err != nil {
		return err
	}
	var done, total int64
	if progress != nil {
		if done, total, err = f.filled(ctx); err != nil {
			return err
		}
		progress(done, total)
	}
	for {
		var s fillStep
		err := txn.Run(ctx, f.o.db, f.o.dialect, func(tx dialect.Tx) (err error) {
			s, err = f.fillSome(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
		if done += int64(s.looked); progress != nil {
			progress(min(done, total), total)
		}
		if s.passEnds {
			progress = nil // the next pass is for what was published behind this one
		}
		if s.over {
			return nil
		}
		if s.numbered > 0 {
			f.o.WakeFollowers()
			if err := letOthersIn(ctx); err != nil {
				return err
			}
		}
	}
}

// filled is how many published events a pass has looked at already, and how many there are.
func (f *Feed) filled(ctx context.Context) (done, total int64, err error) {
	q, end, err := f.o.reading(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer end()
	var at, marked, left int64
	if err := rows.One(ctx, q, f.o.sql.SQL(readFill), nil, &at, &marked); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, 0, err
	}
	if err := rows.One(ctx, q, f.o.sql.SQL(countPublished), nil, &total); err != nil {
		return 0, 0, err
	}
	if at > 0 {
		if err := rows.One(ctx, q, f.o.sql.SQL(countBehind), []any{at}, &left); err != nil {
			return 0, 0, err
		}
		done = total - left
	}
	return done, total, nil
}

// fillStep is what a step has done.
type fillStep struct {
	looked, numbered int
	passEnds, over   bool // over: the pass has found nothing
}

// fillSome takes the next step of a pass, wherever that is.
func (f *Feed) fillSome(ctx context.Context, tx dialect.Tx) (s fillStep, err error) {
	var at, marked int64
	err = rows.One(ctx, tx, f.o.sql.SQL(lockFill), nil, &at, &marked)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = rows.Exec(ctx, tx, f.o.sql.SQL(insertFill))
	}
	if err != nil {
		return s, err
	}
	if s.looked, s.numbered, at, err = f.fillPage(ctx, tx, at); err != nil {
		return s, err
	}
	switch s.passEnds = s.looked < stepRows; {
	case s.passEnds:
		s.over = marked == 0 && s.numbered == 0
		_, err = rows.Exec(ctx, tx, f.o.sql.SQL(endFill))
	case s.numbered > 0:
		_, err = rows.Exec(ctx, tx, f.o.sql.SQL(markFill), at)
	default:
		_, err = rows.Exec(ctx, tx, f.o.sql.SQL(moveFill), at)
	}
	return s, err
}

// fillPage looks at the next published events, and numbers those that have no number.
func (f *Feed) fillPage(ctx context.Context, tx dialect.Tx, after int64) (looked, numbered int, last int64, err error) {
	var without []int64
	last = after
	err = rows.Each(ctx, tx, f.o.sql.SQL(publishedPage), []any{after, int64(stepRows)}, func(row *sql.Rows) error {
		var number int64
		err := row.Scan(&last, &number)
		if looked++; number == 0 {
			without = append(without, last)
		}
		return err
	})
	if err != nil || len(without) == 0 {
		return looked, 0, last, err
	}
	var events []feedno.Event
	var seqs []int64
	text, args := f.o.sql.ListOf(lockUnnumbered, without, nil, nil)
	err = rows.Each(ctx, tx, text, args, func(row *sql.Rows) error {
		var e feedno.Event
		err := row.Scan(&e.Seq, &e.Published)
		events, seqs = append(events, e), append(seqs, e.Seq)
		return err
	})
	if err != nil || len(events) == 0 {
		return looked, 0, last, err
	}
	if _, err := feedno.Give(ctx, tx, f.o.sql, events); err != nil {
		return 0, 0, after, err
	}
	_, err = f.o.changeSeqs(ctx, tx, setNumbers, seqs)
	return looked, len(events), last, err
}
