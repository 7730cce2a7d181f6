// Package feedno gives numbers of the feed: the last one given is a row of the counters table, which a transaction that
// takes numbers keeps locked to its end. So numbers are dense, are seen in their order, and none is burnt by a rollback.
package feedno

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

// Names of the counters. Their rows are there where the feed is on.
const (
	Counter       = "feed"          // the last number that was given
	Epoch         = "feed_epoch"    // ms since 1970 at the start of the epoch; also a row to lock, which keeps purge off new cursors
	Fill          = "feed_fill"     // how far a pass of the back-fill has come, by seq; only where there has been one
	Subscriptions = "subscriptions" // how often webhooks' subscriptions have changed, each time behind the lock of Counter
)

// By primary key, all but insertRows.
const (
	readState = `SELECT name, value FROM {counters} WHERE name IN ('` + Counter + `', '` + Epoch + `')`

	insertCounter = `INSERT INTO {counters} (name) VALUES ('` + Counter + `'){ignore_name}`
	insertEpoch   = `INSERT INTO {counters} (name, value) VALUES ('` + Epoch + `', {clock}){ignore_name}`

	// The last entry of the primary key; of that of the deliveries, for each subscription; and a handful of cursors.
	highest = `SELECT COALESCE((SELECT feed_seq FROM {feed} ORDER BY feed_seq DESC LIMIT 1), 0),
       COALESCE((SELECT MAX((SELECT feed_seq FROM {webhook_deliveries} WHERE subscription_id = id ORDER BY subscription_id DESC, feed_seq DESC LIMIT 1))
          FROM {subscriptions}), 0),
       COALESCE((SELECT MAX(feed_seq) FROM {cursors}), 0)`
	raise = `UPDATE {counters} SET value = ? WHERE name = '` + Counter + `' AND value < ?`

	take = `UPDATE {counters} SET value = value + ?, at_ms = {clock} WHERE name = '` + Counter + `'`
	// By now the transaction's own; and whether there is anybody to make deliveries for.
	taken = `SELECT name, value FROM {counters} WHERE name IN ('` + Counter + `', '` + Subscriptions + `')`

	insertRows = `INSERT INTO {feed} (feed_seq, seq, published_ms) VALUES {rows}`
	nowRow     = `(?, ?, {clock})`
	thenRow    = `(?, ?, ?)`
)

// maxRows bounds a statement's parameters.
const maxRows = 250

// State is what the counters say.
type State struct{ Head, Epoch int64 }

// Read answers where the feed is; on is false where there is none.
func Read(ctx context.Context, q rows.Queryer, r *sqltext.Renderer) (s State, on bool, err error) {
	found := 0
	err = rows.Each(ctx, q, r.SQL(readState), nil, func(row *sql.Rows) error {
		var name string
		var value int64
		if err := row.Scan(&name, &value); err != nil {
			return err
		}
		found++
		if name == Counter {
			s.Head = value
		} else {
			s.Epoch = value
		}
		return nil
	})
	return s, found == 2, err
}

// TurnOn makes the counters where they are not there, and sees to it that no number is given again after a restore in which
// the counter is older than the feed, its readers or webhooks' deliveries, or gone.
func TurnOn(ctx context.Context, tx dialect.Tx, r *sqltext.Renderer) error {
	if err := turnOn(ctx, tx, r); err != nil {
		return fmt.Errorf("turn on the feed: %w", err)
	}
	return nil
}

func turnOn(ctx context.Context, tx dialect.Tx, r *sqltext.Renderer) error {
	s, on, err := Read(ctx, tx, r)
	if err != nil {
		return err
	}
	if !on {
		for _, text := range []string{insertCounter, insertEpoch} {
			if _, err := rows.Exec(ctx, tx, r.SQL(text)); err != nil {
				return err
			}
		}
	}
	var kept, owed, read int64
	err = rows.One(ctx, tx, r.SQL(highest), nil, &kept, &owed, &read)
	top := max(kept, owed, read)
	if err != nil || top <= s.Head {
		return err
	}
	_, err = rows.Exec(ctx, tx, r.SQL(raise), top, top)
	return err
}

// Event is a row of the events that gets a number.
type Event struct {
	Seq       int64
	Published int64 // ms; 0: now
	Number    int64 // given by Give
}

var errOff = errors.New("the counter of the feed is gone")

// Give numbers events in their order, which have none, and which nobody else can number before tx ends. From here to the
// end of tx all others wait who give numbers, or change subscriptions: how often those have changed is answered.
func Give(ctx context.Context, tx dialect.Tx, r *sqltext.Renderer, events []Event) (subscriptions int64, err error) {
	n, err := rows.Exec(ctx, tx, r.SQL(take), int64(len(events)))
	if err == nil && n == 0 {
		err = errOff
	}
	if err != nil {
		return 0, fmt.Errorf("take numbers: %w", err)
	}
	var last int64
	err = rows.Each(ctx, tx, r.SQL(taken), nil, func(row *sql.Rows) error {
		var name string
		var value int64
		err := row.Scan(&name, &value)
		if name == Counter {
			last = value
		} else {
			subscriptions = value
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("take numbers: %w", err)
	}
	for i := range events {
		events[i].Number = last - int64(len(events)-1-i)
	}
	for len(events) > 0 {
		part := events[:min(len(events), maxRows)]
		for i, e := range part { // the rows of a statement are alike
			if (e.Published == 0) != (part[0].Published == 0) {
				part = part[:i]
				break
			}
		}
		if err := insert(ctx, tx, r, part); err != nil {
			return 0, fmt.Errorf("number events: %w", err)
		}
		events = events[len(part):]
	}
	return subscriptions, nil
}

func insert(ctx context.Context, tx dialect.Tx, r *sqltext.Renderer, part []Event) error {
	row, args := nowRow, make([]any, 0, 3*len(part))
	if part[0].Published != 0 {
		row = thenRow
	}
	for _, e := range part {
		args = append(args, e.Number, e.Seq)
		if e.Published != 0 {
			args = append(args, e.Published)
		}
	}
	_, err := rows.Exec(ctx, tx, r.Rows(insertRows, row, len(part)), args...)
	return err
}
