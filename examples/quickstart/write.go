package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// rollbackEvery: one transaction in so many is rolled back on purpose.
const rollbackEvery = 7

// pause lies between two transactions. A real host doesn't write without drawing breath, and SQLite, which has one write
// lock for all processes and no queue for it, would let the relays wait while it did.
const pause = 500 * time.Microsecond

// errChangedMind stands for whatever makes a real program give a transaction up after it has written an event.
var errChangedMind = errors.New("rolled back on purpose")

// writer is the host program: it has a table of its own and tells others about what it changes there.
type writer struct {
	o     *outbox.Outbox
	d     dialect.Dialect
	table string
}

// writeAll writes n events, one transaction each, and returns the ids of those that were rolled back.
//
// One goroutine does it. With several, a transaction can commit after another one that inserted later, and the outbox
// then delivers it later too: that loses nothing, but "insertion order" would no longer be a plain list to compare with.
func (w *writer) writeAll(ctx context.Context, events []event, n int, written func(n int)) (rolledBack []string, err error) {
	for i := range n {
		id := fmt.Sprintf("activity-%06d", i+1)
		err := w.record(ctx, id, events[i%len(events)], (i+1)%rollbackEvery == 0)
		switch {
		case errors.Is(err, errChangedMind):
			rolledBack = append(rolledBack, id)
		case err != nil:
			return rolledBack, err
		}
		written(i + 1)
		time.Sleep(pause)
	}
	return rolledBack, nil
}

// record is the heart of the matter: the business row and the event are in one transaction, so there are both or
// neither. InTx rolls back if the function returns an error.
func (w *writer) record(ctx context.Context, id string, e event, changeMind bool) error {
	return w.o.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		insert := w.d.Bind("INSERT INTO " + w.table + " (id, topic, repository) VALUES (?, ?, ?)")
		if _, err := tx.ExecContext(ctx, insert, id, e.Topic, e.Key); err != nil {
			return fmt.Errorf("record activity: %w", err)
		}
		// The event's id is the row's, so that a receiver that is given it twice can tell. Left empty it would be a
		// new UUID.
		_, err := w.o.Write(ctx, tx, outbox.Event{
			ID:      id,
			Topic:   e.Topic,
			Key:     e.Key,
			Payload: e.Payload,
			Headers: map[string]string{"content-type": "application/json"},
		})
		switch {
		case errors.Is(err, outbox.ErrInvalidEvent):
			return fmt.Errorf("%w: line %d: %w", errUsage, e.line, err)
		case err != nil:
			return err
		case changeMind:
			return errChangedMind
		}
		return nil
	})
}
