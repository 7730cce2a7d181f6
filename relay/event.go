package relay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// event is a pending row as it was read.
type event struct {
	msg         Message
	due         int64          // ms by the database's clock; 0 for a plain one, but in OrderNone
	firstFailed int64          // ms; 0: never
	readAt      int64          // ms: the database's clock when it was read; 0 for a plain one, but with Handlers
	read        clocks.Instant // ours when that had been answered
	partition   int64          // -1: not set yet
	by          string
	broken      error // the row can't be handed over: why

	scope   string           // of order: one event of it at a time, in order
	guard   *clocks.Deadline // until when it is ours
	claim   *claim           // in OrderNone
	known   int              // how many handlers the database knew when it was handed over
	putBack bool             // it was left in the outbox, for a handler that came while it was in hand
	began   atomic.Int64     // when its last handler began, by r.now().Mono
	hand    *hand            // that a call of it is made from; nil: none

	calling atomic.Pointer[calling] // its handler that has not returned
}

const (
	// eventColumns are read in the order of eventRow.scan. What each row sends costs on both sides, and nearly all events are plain:
	// due, and nothing has happened to them yet. So what tells otherwise is not read, but for a sign. Of what was never delayed the
	// clock is not asked, which MySQL works out for each row; a default may make an event due a moment after it was created.
	eventColumns = `seq, id, topic, event_key, partition_no, headers, payload, created_ms,
       CASE WHEN (due_ms <= created_ms OR due_ms <= (SELECT {clock})) AND attempts = 0 AND total_attempts = 0 AND first_failed_ms = 0 AND claim_token = 0
                 AND claimed_by = '' THEN 1 ELSE 0 END`

	// By primary key.
	eventHistory = `SELECT seq, due_ms, attempts, total_attempts, first_failed_ms, claim_token, claimed_by, (SELECT {clock})
FROM {events}{use_key} WHERE seq IN ({list})`
)

// wait is how long until the event is due, by the database's clock when it was read.
func (e *event) wait() time.Duration {
	return untilMillis(e.due, e.readAt)
}

// neverDelayed: it may seem not to be due all the same, where it committed after the reading statement's clock was
// taken and before its snapshot was, as on MySQL. So may one that was requeued then.
func (e *event) neverDelayed() bool {
	return e.msg.Attempt == 1 && (e.due <= e.msg.CreatedAt.UnixMilli() || e.msg.Requeued)
}

// eventRow is what is read of a row besides its event, one row after another.
type eventRow struct {
	headers        []byte
	created, plain int64 // as drivers give them: another type would be converted by way of a text
	withDue        bool  // due_ms is a column of its own, behind the others
	due            int64
}

// scan reads a row of eventColumns. plain is false where eventHistory has more to say.
func (r *eventRow) scan(rows *sql.Rows) (e *event, plain bool, err error) {
	e = &event{}
	m := &e.msg
	into := [...]any{&m.Seq, &m.ID, &m.Topic, &m.Key, &e.partition, &r.headers, &m.Payload, &r.created, &r.plain, &r.due}
	columns := into[:len(into)-1]
	if r.withDue {
		columns = into[:]
	}
	if err := rows.Scan(columns...); err != nil {
		return nil, false, err
	}
	e.due = r.due
	m.Attempt, m.CreatedAt = 1, time.UnixMilli(r.created)
	if h, err := outbox.DecodeHeaders(r.headers); err != nil {
		e.broken = fmt.Errorf("the row can't be read: %w", err)
	} else {
		m.Headers = h
	}
	return e, r.plain == 1, nil
}

func (e *event) size() int { return len(e.msg.Payload) + len(e.msg.ID) + len(e.msg.Topic) + 256 }

// maxBatchBytes bounds what one batch holds in memory; a single event may be larger.
const maxBatchBytes = 16 << 20

// readEvents reads to the end, or cut events, which are enough by their bytes; the connection is free again. The history of events that are not
// plain is a second statement: nobody changes a pending event but whoever has it locked, or owns it.
func (r *Relay) readEvents(ctx context.Context, q rows.Queryer, text string, args []any) (out []*event, cut int, err error) {
	return r.readRows(ctx, q, &eventRow{}, text, args)
}

// readRows is readEvents for rows that may have a column more.
func (r *Relay) readRows(ctx context.Context, q rows.Queryer, row *eventRow, text string, args []any) (out []*event, cut int, err error) {
	found, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, 0, err
	}
	defer found.Close()
	bytes := 0
	var histories []int64
	for found.Next() {
		e, plain, err := row.scan(found)
		if err != nil {
			return nil, 0, err
		}
		if !plain {
			histories = append(histories, e.msg.Seq)
		}
		out = append(out, e)
		if bytes += e.size(); bytes > maxBatchBytes {
			cut = len(out)
			break
		}
	}
	if err := errors.Join(found.Err(), found.Close()); err != nil {
		return nil, 0, err
	}
	if r.handlers != nil && len(out) > len(histories) { // they measure by that clock how long an event has waited
		if err := r.readTime(ctx, q, out); err != nil {
			return nil, 0, err
		}
	}
	if len(histories) > 0 {
		out, err = r.readHistory(ctx, q, out, histories)
	}
	return out, cut, err
}

// readTime notes by the database's clock when events were read.
func (r *Relay) readTime(ctx context.Context, q rows.Queryer, events []*event) error {
	var now int64
	if err := rows.One(ctx, q, r.sql.SQL(readClock), nil, &now); err != nil {
		return err
	}
	read := r.now()
	for _, e := range events {
		e.readAt, e.read = now, read
	}
	return nil
}

// readHistory reads what has happened to some of the events, and leaves out those of them that are no longer there.
func (r *Relay) readHistory(ctx context.Context, q rows.Queryer, events []*event, seqs []int64) ([]*event, error) {
	bySeq := make(map[int64]*event, len(seqs))
	i := 0
	for _, e := range events { // both in the order of reading
		if i < len(seqs) && e.msg.Seq == seqs[i] {
			bySeq[e.msg.Seq] = e
			i++
		}
	}
	for some := range slicesOf(seqs, maxBatch) {
		text, args := r.listArgs(eventHistory, some, nil, nil)
		err := rows.Each(ctx, q, text, args, func(row *sql.Rows) error {
			var seq, attempts, total, firstFailed, due, token, now int64
			var by string
			if err := row.Scan(&seq, &due, &attempts, &total, &firstFailed, &token, &by, &now); err != nil {
				return err
			}
			e := bySeq[seq]
			delete(bySeq, seq)
			e.due, e.firstFailed, e.by, e.readAt, e.read = due, firstFailed, by, now, r.now()
			e.msg.Attempt, e.msg.Requeued, e.msg.Token = int(attempts)+1, total > attempts, token
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(events, func(e *event) bool {
		_, gone := bySeq[e.msg.Seq]
		return gone
	}), nil
}
