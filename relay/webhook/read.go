package webhook

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/sqloutbox/sqloutbox/internal/fanout"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

const (
	// By primary key.
	readEndpoint = `SELECT url, in_order, headers, secrets, state, rest_ms, failing_ms, failures, version, {clock}
FROM {subscriptions}
WHERE id = ? AND state <= 2`
	readVersion = `SELECT version FROM {subscriptions} WHERE id = ?`
	// By primary key. A long payload is read when it is sent, so that what is in hand needs little room.
	readEvents = `SELECT seq, feed_seq, id, topic, headers, LENGTH(payload), CASE WHEN LENGTH(payload) <= 16384 THEN payload END
FROM {events}
WHERE seq IN ({list})`
	// By primary key.
	readPayload = `SELECT payload FROM {events} WHERE seq = ?`
)

// longPayload is the number in readEvents.
const longPayload = 16384

// endpointRow is a subscription as a lane needs it.
type endpointRow struct {
	url                          string
	headers                      map[string]string
	keys                         []Secret
	active, ordered              bool
	version                      int64 // grows with each change that an operator makes, or that disables it
	rest, failing, failures, now int64 // ms, but for failures
}

// readEndpoint answers nil for a subscription that was deleted.
func (w *Webhooks) readEndpoint(ctx context.Context, q rows.Queryer, id int64) (*endpointRow, error) {
	var r endpointRow
	var headers, secrets []byte
	var state int
	err := rows.One(ctx, q, w.sql.SQL(readEndpoint), []any{id}, &r.url, &r.ordered, &headers, &secrets, &state, &r.rest, &r.failing, &r.failures,
		&r.version, &r.now)
	if isNone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read subscription: %w", err)
	}
	r.active = state == fanout.Active
	if json.Unmarshal(headers, &r.headers) != nil { // its error could show what it has read
		return nil, errHeadersColumn
	}
	if r.keys, err = signing(secrets, r.now); err != nil {
		return nil, err
	}
	return &r, nil
}

// found is a delivery that may be claimed.
type found struct {
	feedSeq, seq, due int64
	attempts          int
}

func (w *Webhooks) readDeliveries(ctx context.Context, q rows.Queryer, statement string, args []any) (out []found, err error) {
	err = rows.Each(ctx, q, w.sql.SQL(statement), args, func(row *sql.Rows) error {
		var f found
		err := row.Scan(&f.feedSeq, &f.seq, &f.attempts, &f.due)
		out = append(out, f)
		return err
	})
	return out, err
}

// readEvents gives deliveries their events. One that is there no more stays nil.
func (w *Webhooks) readEvents(ctx context.Context, q rows.Queryer, claimed []*delivery) error {
	bySeq := make(map[int64]*delivery, len(claimed))
	var seqs []int64
	for _, d := range claimed {
		bySeq[d.seq] = d
		seqs = append(seqs, d.seq)
	}
	text, args := w.sql.ListOf(readEvents, seqs, nil, nil)
	err := rows.Each(ctx, q, text, args, func(row *sql.Rows) error {
		var e event
		var seq, number, length int64
		var headers []byte
		if err := row.Scan(&seq, &number, &e.id, &e.topic, &headers, &length, &e.payload); err != nil {
			return err
		}
		if len(headers) > 0 && json.Unmarshal(headers, &e.headers) != nil {
			e.headers = nil // another writer's: what can't be read is not passed on
		}
		e.long = length > longPayload
		if d := bySeq[seq]; d.feedSeq == number { // or, after a restore that has gone wrong, it is another event
			d.event = &e
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	return nil
}

// payload reads a long one. As many are read at once as manyReads says.
func (w *Webhooks) payload(ctx context.Context, seq int64) (p []byte, err error) {
	if err := w.takeRead(ctx); err != nil {
		return nil, err
	}
	defer w.giveRead()
	err = rows.One(ctx, w.o.DB(), w.sql.SQL(readPayload), []any{seq}, &p)
	return p, err
}
