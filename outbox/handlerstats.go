package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/registry"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/topics"
)

// HandlerStats is how far a handler of relay.Handlers has come. Numbers are of the events that are in the outbox: pending,
// dead, or kept by Retention: without one, what is done is counted no more as soon as its event is published. Observers of
// the relay are told of each one.
type HandlerStats struct {
	Name    string    // the newest
	Former  string    // its name before
	Topics  []string  // of all releases
	Since   time.Time // when it was first announced
	From    int64     // it has events from this Seq on; -1: not decided yet
	Retired time.Time // zero: it is not

	Done        int64
	Rejected    int64
	Failing     int64 // failed, and are tried again
	Dead        int64 // of these the event is a dead letter
	Outstanding int64 // wait for a process that knows the handler
	// Lag is the age of the oldest event that it has and has not handled, of the HandlerLagSample oldest that are pending
	// and as many that failed or wait; 0 if there is none.
	Lag time.Duration

	first string // its first name
	takes topics.Set
}

// HandlerLagSample bounds what HandlerStats looks at for Lag.
const HandlerLagSample = 1000

const (
	// All of a handful of rows.
	readHandlers = `SELECT name, former_name, topics, since_ms, from_seq, retired_ms FROM {handlers} ORDER BY since_ms, name`

	// By (handler, state, due_ms, seq) alone.
	countDeliveries = `SELECT state, COUNT(*) FROM {deliveries} WHERE handler = ? GROUP BY state`

	// The oldest events by (state, seq, partition_no), and by primary key the handlers that are through with them.
	oldestUnhandled = `SELECT e.seq, e.topic, e.created_ms, COALESCE(d.handler, '') FROM (
  SELECT * FROM (SELECT seq, topic, created_ms FROM {events}{use_pending} WHERE state <= 0 ORDER BY state, seq LIMIT ?) pending
  UNION ALL
  SELECT * FROM (SELECT seq, topic, created_ms FROM {events}{use_pending} WHERE state > 3 AND state < 5 ORDER BY state, seq LIMIT ?) behind
  UNION ALL
  SELECT * FROM (SELECT seq, topic, created_ms FROM {events}{use_pending} WHERE state > 4 AND state < 6 ORDER BY state, seq LIMIT ?) waiting
) e LEFT JOIN {deliveries} d ON d.seq = e.seq AND d.state IN (1, 2)`
)

// HandlerStats are the handlers that the outbox knows, the oldest first.
func (o *Outbox) HandlerStats(ctx context.Context) ([]HandlerStats, error) {
	all, err := o.handlerStats(ctx)
	if err != nil {
		return nil, fmt.Errorf("handler stats: %w", err)
	}
	return all, nil
}

func (o *Outbox) handlerStats(ctx context.Context) ([]HandlerStats, error) {
	q, end, err := o.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	now, err := o.clock(ctx, q)
	if err != nil {
		return nil, err
	}
	all, err := o.handlers(ctx, q)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	for i := range all {
		if err := o.countDeliveries(ctx, q, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, o.handlerLag(ctx, q, now, all)
}

// handlers are those that the outbox knows, by their newest names.
func (o *Outbox) handlers(ctx context.Context, q rows.Queryer) (all []HandlerStats, err error) {
	var names registry.Names
	err = rows.Each(ctx, q, o.sql.SQL(readHandlers), nil, func(row *sql.Rows) error {
		s, err := scanHandler(row)
		names.Add(s.first, s.Former)
		if s.Former == "" { // its first name: records stand under it
			all = append(all, s)
		}
		return err
	})
	for i := range all {
		all[i].Name, all[i].Former = names.Newest(all[i].first)
	}
	return all, err
}

func scanHandler(row *sql.Rows) (s HandlerStats, err error) {
	var text []byte
	var since, retired int64
	if err := row.Scan(&s.first, &s.Former, &text, &since, &s.From, &retired); err != nil {
		return s, err
	}
	s.Since = time.UnixMilli(since)
	if retired != 0 {
		s.Retired = time.UnixMilli(retired)
	}
	if s.takes, err = topics.Decode(text); err != nil {
		return s, fmt.Errorf("handler %q: %w", s.first, err)
	}
	s.Topics = s.takes.Names()
	return s, nil
}

func (o *Outbox) countDeliveries(ctx context.Context, q rows.Queryer, s *HandlerStats) error {
	return rows.Each(ctx, q, o.sql.SQL(countDeliveries), []any{s.first}, func(row *sql.Rows) error {
		var state, n int64
		if err := row.Scan(&state, &n); err != nil {
			return err
		}
		switch state {
		case delivery.Outstanding:
			s.Outstanding = n
		case delivery.Done:
			s.Done = n
		case delivery.Rejected:
			s.Rejected = n
		case delivery.Failed, delivery.Watched: // it is called, and has failed before or may end its process
			s.Failing += n
		case delivery.Dead:
			s.Dead = n
		}
		return nil
	})
}

// handlerLag sets the lags at now.
func (o *Outbox) handlerLag(ctx context.Context, q rows.Queryer, now time.Time, all []HandlerStats) error {
	type event struct {
		topic   string
		created int64
		through map[string]bool
	}
	events := make(map[int64]*event)
	sample := int64(HandlerLagSample)
	err := rows.Each(ctx, q, o.sql.SQL(oldestUnhandled), []any{sample, sample, sample}, func(row *sql.Rows) error {
		var seq int64
		var e event
		var handler string
		if err := row.Scan(&seq, &e.topic, &e.created, &handler); err != nil {
			return err
		}
		if events[seq] == nil {
			e.through = make(map[string]bool)
			events[seq] = &e
		}
		events[seq].through[handler] = true
		return nil
	})
	for i := range all {
		s := &all[i]
		for seq, e := range events {
			open := s.Retired.IsZero() && s.From >= 0 && seq >= s.From && !e.through[s.first]
			if open && s.takes.Match(e.topic, seq) {
				s.Lag = max(s.Lag, now.Sub(time.UnixMilli(e.created)))
			}
		}
	}
	return err
}
