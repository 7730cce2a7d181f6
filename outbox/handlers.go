package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/registry"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/topics"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

const (
	// By primary key.
	lockHandler      = `SELECT topics FROM {handlers} WHERE name = ?{lock}`
	retireHandler    = `UPDATE {handlers} SET retired_ms = {clock} WHERE name = ? AND retired_ms = 0`
	setHandlerTopics = `UPDATE {handlers} SET topics = ? WHERE name = ?`

	// What waits for it, by (handler, state, due_ms, seq) and its second page on.
	outstandingPage = `SELECT seq FROM {deliveries} WHERE handler = ? AND state = 0 AND seq > ? ORDER BY seq LIMIT ?`
	// A claimed event is not left out, so that a claim which is just being given back is waited for.
	wakeOutstanding = `{update_events} SET due_ms = CASE WHEN claimed_by = '' THEN {clock} ELSE due_ms END
WHERE seq IN ({list}) AND state IN (0, 5)`
)

// RetireHandler takes away a handler of relay.Handlers that is gone for good, or, with topics, only these of its patterns.
// Events no longer wait for it, and releases that still have it don't run it any more; a relay that has it does not start
// again (relay.ErrHandlerRetired), and no other handler can have its name, or one that it had before. So it is with a
// topic: a relay whose handler has it does not start again. Its records stay with their events.
// Errors: ErrUnknownHandler, also for a topic that the handler never had; nothing is changed then.
func (o *Outbox) RetireHandler(ctx context.Context, name string, topics ...string) error {
	var first string
	err := txn.Run(ctx, o.db, o.dialect, func(tx dialect.Tx) error {
		names, err := registry.Read(ctx, tx, o.sql)
		if err != nil {
			return err
		}
		first, _ = names.First(name)
		return o.retire(ctx, tx, first, topics)
	})
	if err == nil {
		err = o.wakeOutstanding(ctx, first)
	}
	if err != nil {
		return fmt.Errorf("retire handler %q: %w", name, err)
	}
	o.Wake()
	return nil
}

func (o *Outbox) retire(ctx context.Context, tx dialect.Tx, name string, retired []string) error {
	var text []byte
	switch err := rows.One(ctx, tx, o.sql.SQL(lockHandler), []any{name}, &text); {
	case errors.Is(err, sql.ErrNoRows):
		return ErrUnknownHandler
	case err != nil:
		return err
	case len(retired) == 0:
		_, err := tx.ExecContext(ctx, o.sql.SQL(retireHandler), name)
		return err
	}
	have, err := topics.Decode(text)
	if err != nil {
		return err
	}
	if unknown, ok := have.Retire(retired); !ok {
		return fmt.Errorf("%w: it never had topic %q", ErrUnknownHandler, unknown)
	}
	left, err := topics.Encode(have)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, o.sql.SQL(setHandlerTopics), left, name)
	return err
}

// wakeOutstanding has events looked at again that wait for a handler.
func (o *Outbox) wakeOutstanding(ctx context.Context, name string) error {
	for after := int64(0); ; {
		var seqs []int64
		err := txn.Run(ctx, o.db, o.dialect, func(tx dialect.Tx) (err error) {
			if seqs, err = rows.Int64s(ctx, tx, o.sql.SQL(outstandingPage), name, after, int64(stepRows)); err != nil {
				return err
			}
			_, err = o.changeSeqs(ctx, tx, wakeOutstanding, seqs)
			return err
		})
		if err != nil || len(seqs) < stepRows {
			return err
		}
		after = seqs[len(seqs)-1]
	}
}
