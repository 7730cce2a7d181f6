package relay

import (
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/clocks"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// event is a pending row as it was read.
type event struct {
	msg         Message
	due         int64 // ms by the database's clock
	firstFailed int64 // ms; 0: never
	readAt      int64 // ms: the database's clock when it was read
	read        clocks.Instant
	partition   int64 // -1: not set yet
	by          string
	broken      error // the row can't be handed over: why

	scope string           // of order: one event of it at a time, in order
	guard *clocks.Deadline // until when it is ours
	claim *claim           // in OrderNone
	known int              // how many handlers the database knew when it was handed over
	began atomic.Int64     // when its last handler began, by r.now().Mono
	hand  *hand            // that a call of it is made from; nil: none
}

// eventColumns are read in the order of scanEvent. The clock is a scalar subquery: computed once, not once a row.
const eventColumns = `seq, id, topic, event_key, partition_no, headers, payload, created_ms, due_ms, attempts, total_attempts,
       first_failed_ms, claimed_by, claim_token, (SELECT {clock})`

// wait is how long until the event is due, by the database's clock when it was read.
func (e *event) wait() time.Duration {
	return untilMillis(e.due, e.readAt)
}

// neverDelayed: it may seem not to be due all the same, where it committed after the reading statement's clock was
// taken and before its snapshot was, as on MySQL.
func (e *event) neverDelayed() bool {
	return e.msg.Attempt == 1 && e.due <= e.msg.CreatedAt.UnixMilli()
}

func scanEvent(rows *sql.Rows) (*event, error) {
	var (
		e               event
		m               = &e.msg
		headers         []byte
		created         int64
		attempts, total int64 // as drivers give them: another type would be converted by way of a text
	)
	err := rows.Scan(&m.Seq, &m.ID, &m.Topic, &m.Key, &e.partition, &headers, &m.Payload, &created, &e.due, &attempts, &total,
		&e.firstFailed, &e.by, &m.Token, &e.readAt)
	if err != nil {
		return nil, err
	}
	m.Attempt, m.Requeued, m.CreatedAt = int(attempts)+1, total > attempts, time.UnixMilli(created)
	if h, err := outbox.DecodeHeaders(headers); err != nil {
		e.broken = fmt.Errorf("the row can't be read: %w", err)
	} else {
		m.Headers = h
	}
	return &e, nil
}

func (e *event) size() int { return len(e.msg.Payload) + len(e.msg.ID) + len(e.msg.Topic) + 256 }

// maxBatchBytes bounds what one batch holds in memory; a single event may be larger.
const maxBatchBytes = 16 << 20

// readEvents reads to the end, or to the byte bound, so that the connection is free again.
func (r *Relay) readEvents(rows *sql.Rows) (out []*event, cut bool, err error) {
	defer rows.Close()
	bytes, read := 0, r.now()
	for rows.Next() {
		e, err := scanEvent(rows)
		if err != nil {
			return nil, false, err
		}
		e.read = read
		out = append(out, e)
		if bytes += e.size(); bytes > maxBatchBytes {
			cut = true
			break
		}
	}
	if err := rows.Err(); err != nil {
		return nil, false, err
	}
	return out, cut, rows.Close()
}
