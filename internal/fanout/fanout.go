// Package fanout makes a webhook delivery for each subscription that wants an event, in the transaction that gives the event
// its number in the feed.
//
// Numbers are given behind a lock of the feed's counter. Whoever changes subscriptions holds the same lock (Change), so that
// each change comes between two settles: an event is for those subscriptions that were there when it got its number.
package fanout

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

// States of a subscription.
const (
	Active   = 0
	Paused   = 1 // what is published meanwhile is kept
	Disabled = 2 // what is published meanwhile is missed
	Deleted  = 3 // until its deliveries are deleted
)

// States of a delivery. One is kept for a paused subscription by being pending: nobody claims it.
const (
	Pending = 0
	Done    = 1
	Dead    = 2
)

// OwnTopics begins topics of this module's events. What they say is not for every subscriber: "*" does not take them.
const OwnTopics = "sqloutbox."

const (
	// All that take deliveries, once after each change.
	readSubscriptions = `SELECT id, topics, state FROM {subscriptions} WHERE state <= 1 ORDER BY id`

	// By primary key: there are few, and those that are deleted fewer.
	countSubscriptions = `SELECT COUNT(*) FROM {subscriptions} WHERE state <= 1`

	// By primary key, locked by the feed's counter.
	readRoom = `SELECT kept, kept_max FROM {subscriptions} WHERE id = ?`
	keep     = `UPDATE {subscriptions}
SET kept = kept + ?, missed = missed + ?, missed_from = CASE WHEN missed_from = 0 THEN ? ELSE missed_from END
WHERE id = ?`

	insertDeliveries = `INSERT INTO {webhook_deliveries} (subscription_id, feed_seq, seq, due_ms, created_ms) VALUES {rows}`
	deliveryRow      = `(?, ?, ?, {clock} + ?, {clock})`
)

const (
	rowArgs = 4   // of deliveryRow
	maxRows = 200 // bounds a statement's parameters
)

// Event is one that got its number in this transaction.
type Event struct {
	FeedSeq, Seq int64
	Topic        string
}

// Fanout remembers the subscriptions between two changes of them.
type Fanout struct {
	sql *sqltext.Renderer
	log *slog.Logger

	mu      sync.Mutex // guards what is below
	version int64
	known   []subscription
	guess   int // how many there are, while none is known
}

type subscription struct {
	id       int64
	patterns []string
	paused   bool
	broken   bool // what it wants can't be read
}

// New makes a Fanout.
func New(r *sqltext.Renderer, log *slog.Logger) *Fanout { return &Fanout{sql: r, log: log} }

// Deliver makes the deliveries of events, which are in the order of the feed. version is the counter of changes, read behind
// the lock of the feed's counter; 0: there has never been a subscription.
func (f *Fanout) Deliver(ctx context.Context, tx dialect.Tx, version int64, events []Event) error {
	if version == 0 || len(events) == 0 {
		return nil
	}
	all, err := f.subscriptions(ctx, tx, version)
	if err != nil {
		return fmt.Errorf("read subscriptions: %w", err)
	}
	var args []any
	for _, s := range all {
		if s.broken {
			if _, err := rows.Exec(ctx, tx, f.sql.SQL(keep), 0, 0, events[0].FeedSeq, s.id); err != nil {
				return fmt.Errorf("note what a subscription misses: %w", err)
			}
			continue
		}
		wanted := s.wants(events)
		if s.paused && len(wanted) > 0 {
			if wanted, err = f.keep(ctx, tx, s.id, wanted); err != nil {
				return fmt.Errorf("keep deliveries of a paused subscription: %w", err)
			}
		}
		args = append(args, Rows(s.id, wanted, 0)...)
	}
	return Insert(ctx, tx, f.sql, args)
}

// Rows are the arguments of Insert for one subscription; wait is until the deliveries become due, in ms.
func Rows(subscription int64, events []Event, wait int64) []any {
	args := make([]any, 0, rowArgs*len(events))
	for _, e := range events {
		args = append(args, subscription, e.FeedSeq, e.Seq, wait)
	}
	return args
}

// subscriptions reads them where they have changed. What it remembers is committed: a change holds the lock that tx has.
func (f *Fanout) subscriptions(ctx context.Context, tx dialect.Tx, version int64) ([]subscription, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.version == version {
		return f.known, nil
	}
	var all []subscription
	err := rows.Each(ctx, tx, f.sql.SQL(readSubscriptions), nil, func(row *sql.Rows) error {
		var s subscription
		var text []byte
		var state int
		if err := row.Scan(&s.id, &text, &state); err != nil {
			return err
		}
		s.paused = state == Paused
		var err error
		if s.patterns, err = DecodeTopics(text); err != nil { // it costs this one what is published, and nobody else
			s.broken = true
			f.log.Error("a subscription's topics can't be read: it misses all that is published until it is updated", "id", s.id, "error", err)
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.version, f.known, f.guess = version, all, 0
	return all, nil
}

func (s subscription) wants(events []Event) (wanted []Event) {
	for _, e := range events {
		if Match(s.patterns, e.Topic) {
			wanted = append(wanted, e)
		}
	}
	return wanted
}

// keep answers with what there is room for, and counts the rest.
func (f *Fanout) keep(ctx context.Context, tx dialect.Tx, id int64, wanted []Event) ([]Event, error) {
	var kept, most int64
	if err := rows.One(ctx, tx, f.sql.SQL(readRoom), []any{id}, &kept, &most); err != nil {
		return nil, err
	}
	n := min(max(most-kept, 0), int64(len(wanted)))
	missed, from := int64(len(wanted))-n, int64(0)
	if missed > 0 {
		from = wanted[n].FeedSeq
	}
	_, err := rows.Exec(ctx, tx, f.sql.SQL(keep), n, missed, from, id)
	return wanted[:n], err
}

// Insert makes deliveries.
func Insert(ctx context.Context, tx dialect.Tx, r *sqltext.Renderer, args []any) error {
	for len(args) > 0 {
		part := args[:min(len(args), rowArgs*maxRows)]
		if _, err := rows.Exec(ctx, tx, r.Rows(insertDeliveries, deliveryRow, len(part)/rowArgs), part...); err != nil {
			return fmt.Errorf("make deliveries: %w", err)
		}
		args = args[len(part):]
	}
	return nil
}
