package outbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// An insert takes many rows, in order: seq is handed out in the order of the VALUES list on every engine.
const (
	insertNow      = `INSERT INTO {events} (id, topic, event_key, partition_no, headers, payload) VALUES {rows}`
	insertNowRow   = `(?, ?, ?, ?, ?, ?)`
	insertLater    = `INSERT INTO {events} (id, topic, event_key, partition_no, headers, payload, state, due_ms) VALUES {rows}`
	insertLaterRow = `(?, ?, ?, ?, ?, ?, 3, {clock} + ?)`

	// The first row, where the statement sees to it that the transaction is open. The others stand and fall with it.
	guardedNowRow   = `(?, ?, ?, {in_tx}, ?, ?)`
	guardedLaterRow = `(?, ?, ?, {in_tx}, ?, ?, 3, {clock} + ?)`
)

// A statement is bounded by parameters (old SQLite takes 999) and by bytes (MariaDB's max_allowed_packet is 16 MiB,
// and escaping can double what is sent).
const (
	maxRows  = 100
	maxBytes = 4 << 20
)

func (o *Outbox) insertText(later, guarded bool, n int) string {
	statement, row, first := insertNow, insertNowRow, guardedNowRow
	if later {
		statement, row, first = insertLater, insertLaterRow, guardedLaterRow
	}
	if guarded && n == 1 {
		row = first
	} else if guarded {
		statement, n = strings.Replace(statement, "{rows}", first+", {rows}", 1), n-1
	}
	if o.opts.IgnoreDuplicates {
		statement += "{ignore_id}"
	}
	return o.sql.Rows(statement, row, n)
}

func (o *Outbox) insertRows(ctx context.Context, tx dialect.Execer, rows []row, guarded bool) error {
	for len(rows) > 0 {
		n := chunk(rows)
		if err := o.insertChunk(ctx, tx, rows[:n], guarded); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// chunk is how many rows go into the next statement: all of one kind, delayed or not, so that order is kept.
func chunk(rows []row) int {
	later, bytes := rows[0].delay > 0, rows[0].size()
	n := 1
	for n < len(rows) && n < maxRows && rows[n].delay > 0 == later && bytes+rows[n].size() <= maxBytes {
		bytes += rows[n].size()
		n++
	}
	return n
}

func (o *Outbox) insertChunk(ctx context.Context, tx dialect.Execer, rows []row, guarded bool) error {
	later := rows[0].delay > 0
	args := make([]any, 0, 7*len(rows))
	for i := range rows {
		r := &rows[i]
		args = append(args, r.id, r.topic, r.key, r.partition, r.headers, r.payload)
		if later {
			args = append(args, r.delay)
		}
	}
	_, err := tx.ExecContext(ctx, o.insertText(later, guarded, len(rows)), args...)
	if err == nil {
		return nil
	}
	err = o.notOpen(guarded, err)
	switch o.dialect.Classify(err) {
	case dialect.Duplicate:
		return fmt.Errorf("insert: %w: %w", ErrDuplicate, err)
	case dialect.KeyTaken:
		return fmt.Errorf("insert: %w: run the setval that Outbox.Check answers with: %w", ErrSequenceBehind, err)
	}
	return fmt.Errorf("insert: %w", err)
}
