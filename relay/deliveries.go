package relay

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
	"github.com/sqloutbox/sqloutbox/outbox"
)

const (
	// By primary key. A record that is there is changed, one that is not is inserted: an UPDATE that finds nothing would
	// lock the gap on MySQL, where a host's transaction is REPEATABLE READ, and two of them would then be a deadlock.
	beginDelivery = `{update_deliveries} SET state = 5 WHERE seq = ? AND handler = ? AND state NOT IN (1, 2, 5)`
	newDelivery   = `INSERT INTO {deliveries} (seq, handler, state, since_ms) VALUES (?, ?, 5, {clock})`
	endDelivery   = `{update_deliveries} SET state = 1, attempts = ?, last_error = '', due_ms = 0, settled_ms = {clock}
WHERE seq = ? AND handler = ? AND state = 5`
	readDelivery = `SELECT state FROM {deliveries} WHERE seq = ? AND handler = ?`
	eventState   = `SELECT state FROM {events} WHERE seq = ?`

	// since_ms: when it was noted first, and from its first failure on when that was. It stands before the attempts: MySQL would
	// look at the new ones.
	noteDelivery = `{update_deliveries} SET since_ms = CASE WHEN attempts = 0 AND ? > 0 THEN {clock} ELSE since_ms END,
       state = ?, attempts = ?, last_error = ?, due_ms = {clock} + ?, settled_ms = {clock}
WHERE seq = ? AND handler = ? AND state NOT IN (1, 2, ?)`
	// No record outlives its event.
	insertNote = `INSERT INTO {deliveries} (state, attempts, last_error, due_ms, handler, seq, since_ms, settled_ms)
SELECT ?, ?, ?, {clock} + ?, ?, seq, {clock}, {clock} FROM {events} WHERE seq = ?`

	stillThere = `SELECT seq FROM {events} WHERE seq IN ({list})`
)

func isTaken(class dialect.Class) bool {
	return class == dialect.Duplicate || class == dialect.KeyTaken
}

// begin makes the record of a delivery in the handler's own transaction, and so keeps any other process off it. first is
// false where another process has made it since the needs were read.
func (h *Handlers) begin(ctx context.Context, tx *sql.Tx, seq int64, n *need) (first bool, err error) {
	if n.have {
		changed, err := rows.Exec(ctx, tx, h.sql.SQL(beginDelivery), seq, n.name)
		return changed > 0, err
	}
	_, err = rows.Exec(ctx, tx, h.sql.SQL(newDelivery), seq, n.name)
	if isTaken(h.d.Classify(err)) {
		return false, nil
	}
	return err == nil, err
}

// end notes in the handler's transaction that it is done. A transaction that has silently ended has no record. One that gave
// way to another is postponed: the handler is not to blame.
func (h *Handlers) end(ctx context.Context, tx *sql.Tx, m Message, n *need) error {
	changed, err := rows.Exec(ctx, tx, h.sql.SQL(endDelivery), m.Attempt, m.Seq, n.name)
	if err != nil {
		return err
	}
	if changed != 1 {
		return outbox.ErrNoTransaction
	}
	if n.served {
		_, err := rows.Exec(ctx, tx, h.sql.SQL(wakeEvent), m.Seq)
		if h.d.Classify(err) == dialect.Conflict { // who requeues or discards its event locks that first, and then the record
			return &postponedError{err: err, wait: jitter(h.relay.opts.Poll)}
		}
		return err
	}
	return nil
}

// noted is what a record says.
type noted struct {
	state, attempts int
	text            string
	wait            time.Duration // until the next try
}

// note records what became of a delivery, in a transaction of its own. was is a record that stays: that it is handled, or
// that the handler has committed by itself, which only its being dead follows.
func (h *Handlers) note(ctx context.Context, seq int64, handler string, now noted) (was int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.noting())
	defer cancel()
	stays := delivery.Running
	if now.state == delivery.Dead {
		stays = delivery.Done
	}
	for range 2 { // once more if another process was faster
		err = txn.Run(ctx, h.own, h.d, func(tx dialect.Tx) error {
			was = delivery.None
			changed, err := rows.Exec(ctx, tx, h.sql.SQL(noteDelivery), now.attempts, now.state, now.attempts, now.text,
				now.wait.Milliseconds(), seq, handler, stays)
			if err != nil || changed > 0 {
				return err
			}
			err = rows.One(ctx, tx, h.sql.SQL(readDelivery), []any{seq, handler}, &was)
			if errors.Is(err, sql.ErrNoRows) {
				_, err = rows.Exec(ctx, tx, h.sql.SQL(insertNote), now.state, now.attempts, now.text, now.wait.Milliseconds(), handler, seq)
			}
			return err
		})
		if !isTaken(h.d.Classify(err)) {
			break
		}
	}
	return was, err
}

// dropRecords deletes the records of events that were deleted in the same transaction. all is false where some of them may
// not have been.
func (r *Relay) dropRecords(ctx context.Context, tx dialect.Tx, seqs []int64, all bool) error {
	if r.handlers == nil {
		return nil
	}
	if !all {
		text, args := r.listArgs(stillThere, seqs, nil, nil)
		there, err := rows.Int64s(ctx, tx, text, args...)
		if err != nil {
			return err
		}
		seqs = without(seqs, there)
	}
	if len(seqs) == 0 {
		return nil
	}
	text, args := r.listArgs(delivery.RecordedBy, seqs, nil, nil)
	handlers, err := rows.Column[string](ctx, tx, text, args...)
	if err != nil {
		return err
	}
	for _, handler := range handlers {
		if err := r.execListAfter(ctx, tx, delivery.Forget, seqs, handler); err != nil {
			return err
		}
	}
	return nil
}

func without(seqs, gone []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(seqs), func(seq int64) bool { return slices.Contains(gone, seq) })
}
