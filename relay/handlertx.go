package relay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// runTx runs a handler in a transaction that begins with the record, and ends it with it.
func (h *Handlers) runTx(ctx context.Context, leave func(), tx *sql.Tx, e *event, m Message, n *need) result {
	returned := h.begins(e, n)
	ctx, cancel := context.WithTimeout(ctx, h.timeout(n.own))
	defer cancel()
	defer context.AfterFunc(ctx, func() { // it is over then, whether the handler returns or not
		_ = tx.Rollback()
		leave()
	})()
	err := guarded(func() error { return n.own.Tx(ctx, tx, m) })
	late := returned()
	if err != nil {
		return result{err: cutOff(ctx, err), ran: true, late: late}
	}
	if err := h.end(ctx, tx, m, n); err != nil {
		if isPostponed(err) {
			return result{err: err}
		}
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() == nil {
			return result{err: h.endedBy(ctx, m, n), ran: true}
		}
		return result{err: cutOff(ctx, fmt.Errorf("end the record: %w", err)), ran: true, late: late}
	}
	if err := tx.Commit(); err != nil {
		return result{err: cutOff(ctx, fmt.Errorf("commit: %w", err)), ran: true, unknown: true}
	}
	return result{ran: true, woken: n.served}
}

// open begins a handler's transaction with the record of its delivery. No transaction and no error: it is done.
func (h *Handlers) open(ctx context.Context, seq int64, n *need) (tx *sql.Tx, err error) {
	err = txn.Retry(ctx, h.d, func() (err error) {
		for range 3 { // what is there is read anew while other processes change it
			var first bool
			if tx, first, err = h.tryOpen(ctx, seq, n); err != nil || first {
				return err
			}
			if err := h.reread(ctx, seq, n); err != nil {
				return fmt.Errorf("read the record: %w", err)
			}
			switch {
			case n.done():
				return nil
			case n.state == delivery.Running:
				return Permanent(errCommitted)
			}
		}
		return &postponedError{err: errors.New("other processes have it in hand"), wait: jitter(h.relay.opts.Poll)}
	})
	return tx, err
}

func (h *Handlers) tryOpen(ctx context.Context, seq int64, n *need) (_ *sql.Tx, first bool, err error) {
	tx, err := h.db.BeginTx(ctx, h.txOptions())
	if err != nil {
		return nil, false, fmt.Errorf("begin: %w", err)
	}
	if first, err = h.begin(ctx, tx, seq, n); err != nil {
		err = fmt.Errorf("begin the record: %w", err)
	} else if first {
		var pending bool
		if pending, err = h.isPending(ctx, tx, seq); err != nil {
			err = fmt.Errorf("look at the event: %w", err)
		} else if !pending {
			err = &postponedError{err: errSettled, wait: jitter(h.relay.opts.Poll)}
		}
	}
	if err != nil || !first {
		_ = tx.Rollback() // nothing has happened in it
		return nil, false, err
	}
	return tx, true, nil
}

// endedBy tells what a handler did to its transaction.
func (h *Handlers) endedBy(ctx context.Context, m Message, n *need) error {
	switch err := h.reread(ctx, m.Seq, n); {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrHandlerEndedTx, err)
	case n.state == delivery.Running:
		return Permanent(errCommitted)
	}
	return fmt.Errorf("%w: it called Rollback, so that nothing of it stays", ErrHandlerEndedTx)
}

// txOptions are explicit: with a snapshot from before it waited for the record, a late owner would find its event there.
func (h *Handlers) txOptions() *sql.TxOptions {
	opts := sql.TxOptions{}
	if h.opts.TxOptions != nil {
		opts = *h.opts.TxOptions
	}
	if opts.Isolation == sql.LevelDefault && !h.oneWriter() {
		opts.Isolation = sql.LevelReadCommitted
	}
	return &opts
}

// isPending looks, behind the lock of the record, whether the event is still to be handled. The records of an event go in
// one transaction with it: an owner that was late would find none, and handle it again.
func (h *Handlers) isPending(ctx context.Context, tx *sql.Tx, seq int64) (bool, error) {
	var state int64
	text := h.sql.SQL(eventState)
	if h.keyLock != "" && h.txOptions().Isolation > sql.LevelReadCommitted {
		text += h.keyLock
	}
	err := rows.One(ctx, tx, text, []any{seq}, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return state != 1, err
}
