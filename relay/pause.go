package relay

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
	"github.com/sqloutbox/sqloutbox/outbox"
)

const (
	// A handful of rows.
	readPauses = `SELECT topic FROM {pauses}`

	// By (state, seq, partition_no).
	pausedEvents = `SELECT seq, topic FROM {events}{use_pending} WHERE state > 5 AND state < 7 AND seq > ? ORDER BY state, seq LIMIT ?`

	// By primary key. What waits for its topic stands in nobody's way.
	pauseList  = `{update_events} SET state = 6 WHERE seq IN ({list}) AND state = 0`
	resumeList = `{update_events} SET state = 0 WHERE seq IN ({list}) AND state = 6`
)

// pauses are the topics that are not handed on for now.
type pauses map[string]bool

func (p pauses) any() bool             { return len(p) > 0 }
func (p pauses) all() bool             { return p[outbox.AllTopics] }
func (p pauses) has(topic string) bool { return p[topic] || p.all() }

// topic is a paused topic, if not everything is paused.
func (p pauses) topic() (string, bool) {
	if p.all() {
		return "", false
	}
	for topic := range p {
		return topic, true
	}
	return "", false
}

// readPauses reads them anew, if there are any, for a look that began at from. If that fails it was no look: what was known
// holds on, and nothing is handed over before anything is.
func (s *session) readPauses(ctx context.Context, n int, from time.Duration) (err error) {
	var all pauses
	if n > 0 {
		if all, err = s.r.readPauses(ctx); err != nil {
			return err
		}
	}
	s.pauses, s.looked = all, from
	return nil
}

func (r *Relay) readPauses(ctx context.Context) (pauses, error) {
	topics, err := rows.Column[string](ctx, r.db, r.sql.SQL(readPauses))
	if err != nil {
		return nil, fmt.Errorf("read pauses: %w", err)
	}
	all := make(pauses)
	for _, topic := range topics {
		all[topic] = true
	}
	return all, nil
}

// resume puts back events whose topic is no longer paused, page by page, until a page has none. Resume does so as well;
// this is for one that was cut off.
func (s *session) resume(ctx context.Context) error {
	for {
		more := false
		err := txn.Run(ctx, s.r.db, s.r.d, func(tx dialect.Tx) (err error) {
			more, err = s.resumePage(ctx, tx)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

func (s *session) resumePage(ctx context.Context, tx dialect.Tx) (more bool, err error) {
	var seqs []int64
	n, last := 0, int64(0)
	err = rows.Each(ctx, tx, s.r.sql.SQL(pausedEvents), []any{s.pausedTo, int64(stepRows)}, func(row *sql.Rows) error {
		var topic string
		err := row.Scan(&last, &topic)
		if n++; !s.pauses.has(topic) {
			seqs = append(seqs, last)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if s.pausedTo = last; n < stepRows {
		s.pausedTo = 0
	}
	if len(seqs) == 0 {
		return false, nil
	}
	return n == stepRows, s.r.execList(ctx, tx, resumeList, seqs)
}
