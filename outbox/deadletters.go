package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/plaintext"
)

// DeadLetter is an event that was given up. It stays until Requeue or Discard, or until DeadRetention where a relay
// sets that.
type DeadLetter struct {
	Event         // Delay is zero; Headers are nil when they can't be decoded (see LastError)
	Seq           int64
	Attempts      int // hand-overs since it was written or last requeued
	TotalAttempts int // hand-overs in all
	LastError     string
	CreatedAt     time.Time
	FirstFailedAt time.Time // zero if it never failed before it was given up
	DeadAt        time.Time
}

// DeadLetterQuery narrows DeadLetters, RequeueMatching and DiscardMatching. The zero value matches all.
type DeadLetterQuery struct {
	Topic string    // exactly this topic; empty: any
	Since time.Time // given up at or after this instant, by the database's clock; zero: any
	Until time.Time // given up before this instant; zero: any
	After int64     // only with a Seq above this one: the last Seq of the page before
	// Limit bounds how many are answered or changed. DeadLetters: default 100, at most 1000. RequeueMatching and
	// DiscardMatching: default all.
	Limit int
}

// Dead letters are found by (state, seq), in place: their number costs the relay nothing.
const (
	deadMatch = ` FROM {events}{use_pending}
WHERE state = 2 AND seq > ? AND settled_ms >= ? AND settled_ms < ?`
	deadOfTopic = ` AND topic = ?`
	deadPage    = ` ORDER BY seq LIMIT ?`

	deadColumns = `SELECT seq, id, topic, event_key, headers, payload, attempts, total_attempts, last_error,
       created_ms, first_failed_ms, settled_ms`
	deadSeqs = `SELECT seq`
)

const maxDeadPage = 1000

func (q *DeadLetterQuery) validate() error {
	switch {
	case q.Limit < 0:
		return fmt.Errorf("%w: Limit %d: must not be negative", ErrInvalidOptions, q.Limit)
	case !q.Until.IsZero() && q.Until.Before(q.Since):
		return fmt.Errorf("%w: Until %v lies before Since %v", ErrInvalidOptions, q.Until, q.Since)
	case plaintext.Bad(q.Topic, MaxTopicLen) != "":
		return fmt.Errorf("%w: Topic %s", ErrInvalidOptions, plaintext.Bad(q.Topic, MaxTopicLen))
	}
	return nil
}

// statement is columns of the matching rows after a seq, at most limit of them, oldest first.
func (q *DeadLetterQuery) statement(columns string, after int64, limit int) (string, []any) {
	since, until := int64(0), int64(math.MaxInt64)
	if !q.Since.IsZero() {
		since = q.Since.UnixMilli()
	}
	if !q.Until.IsZero() {
		until = q.Until.UnixMilli()
	}
	text, args := columns+deadMatch, []any{after, since, until}
	if q.Topic != "" {
		text, args = text+deadOfTopic, append(args, q.Topic)
	}
	return text + deadPage, append(args, int64(limit))
}

// DeadLetters lists dead letters, oldest first (by Seq). For the next page set After to the last Seq of this one.
func (o *Outbox) DeadLetters(ctx context.Context, q DeadLetterQuery) ([]DeadLetter, error) {
	if err := q.validate(); err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	limit := q.Limit
	if limit == 0 {
		limit = 100
	}
	if limit > maxDeadPage {
		return nil, fmt.Errorf("dead letters: %w: Limit %d: must be between 0 and %d; use After for the next page", ErrInvalidOptions, limit, maxDeadPage)
	}
	text, args := q.statement(deadColumns, q.After, limit)
	rows, err := o.db.QueryContext(ctx, o.sql.SQL(text), args...)
	if err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	defer rows.Close()
	var out []DeadLetter
	for rows.Next() {
		dl, err := scanDeadLetter(rows)
		if err != nil {
			return nil, fmt.Errorf("dead letters: %w", err)
		}
		out = append(out, dl)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("dead letters: %w", err)
	}
	return out, nil
}

func scanDeadLetter(rows *sql.Rows) (DeadLetter, error) {
	var (
		d                          DeadLetter
		headers                    []byte
		created, firstFailed, dead int64
	)
	err := rows.Scan(&d.Seq, &d.ID, &d.Topic, &d.Key, &headers, &d.Payload, &d.Attempts, &d.TotalAttempts, &d.LastError,
		&created, &firstFailed, &dead)
	if err != nil {
		return DeadLetter{}, err
	}
	d.Headers, _ = DecodeHeaders(headers) // broken headers are why it is dead; LastError says so
	d.CreatedAt, d.DeadAt = time.UnixMilli(created), time.UnixMilli(dead)
	if firstFailed != 0 {
		d.FirstFailedAt = time.UnixMilli(firstFailed)
	}
	return d, nil
}
