package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"
)

// Tx is a transaction of the host: *sql.Tx, *sqlx.Tx, what gorm, bun and sqlc hold (see the package comment), or
// postgres.WrapTx round a pgx.Tx. A *sql.DB does not fit on purpose. Write calls only ExecContext.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	Commit() error
	Rollback() error
}

// row is an event that has passed validation, as the table takes it.
type row struct {
	id        string
	topic     string
	key       string
	partition int64
	headers   []byte
	payload   []byte
	delay     int64 // ms
}

func (r *row) size() int {
	return len(r.id) + len(r.topic) + len(r.key) + len(r.headers) + len(r.payload)
}

// Write inserts events in the caller's transaction and returns their ids in the order of the call. They exist if and
// only if that transaction commits. It is a plain INSERT: it reads nothing, waits for no lock of the library's and
// never retries, since the transaction is the host's.
//
// Events of one call keep the order of the slice. For one key, insertion order is commit order when the host makes
// the writers of that key take turns, by a row lock or a version check before Write.
//
// Errors: *InvalidEventError (the transaction is untouched), ErrDuplicate, ErrNoTransaction (nothing was written), or
// the driver's own, wrapped; after those roll back. If a Commit's outcome is unknown, the same ids refuse a second time
// (ErrDuplicate) only for as long as the rows of the first exist: with a relay's Retention of 0 one is deleted when it is
// published. A unique key of the host's own tables lasts.
func (o *Outbox) Write(ctx context.Context, tx Tx, events ...Event) ([]string, error) {
	if len(events) == 0 {
		return nil, nil
	}
	if isNil(tx) {
		return nil, fmt.Errorf("write: %w: the transaction is nil", ErrNoTransaction)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	ids, rows, err := o.prepare(events)
	if err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	guarded, err := o.open(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	if err := o.insertRows(ctx, tx, rows, guarded); err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	return ids, nil
}

// isNil: also of a type, such as a *sql.Tx that was never begun.
func isNil(tx Tx) bool {
	v := reflect.ValueOf(tx)
	return tx == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// prepare validates all events before any SQL is sent.
func (o *Outbox) prepare(events []Event) ([]string, []row, error) {
	ids := make([]string, len(events))
	rows := make([]row, 0, len(events))
	var seen map[string]struct{}
	if len(events) > 1 {
		seen = make(map[string]struct{}, len(events))
	}
	for i := range events {
		e := &events[i]
		if err := o.validate(i, e); err != nil {
			return nil, nil, err
		}
		headers, err := encodeHeaders(e.Headers)
		if err != nil {
			return nil, nil, &InvalidEventError{Index: i, Field: "Headers", Reason: err.Error()}
		}
		id := e.ID
		if id == "" {
			u, err := uuid.NewV7()
			if err != nil {
				return nil, nil, fmt.Errorf("new id: %w", err)
			}
			id = u.String()
		}
		ids[i] = id
		if seen != nil {
			if _, twice := seen[id]; twice {
				if o.opts.IgnoreDuplicates {
					continue
				}
				return nil, nil, fmt.Errorf("event %d: id %q is twice in the call: %w", i, id, ErrDuplicate)
			}
			seen[id] = struct{}{}
		}
		payload := e.Payload
		if payload == nil {
			payload = []byte{} // nil would be NULL
		}
		rows = append(rows, row{
			id: id, topic: e.Topic, key: e.Key, partition: int64(partitionOf(e, id)),
			headers: headers, payload: payload, delay: delayMillis(e.Delay),
		})
	}
	return ids, rows, nil
}

// delayMillis rounds up, so that a delayed event is never early.
func delayMillis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
