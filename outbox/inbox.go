package outbox

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/plaintext"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// Inbox is how a consumer behind a broker tells a message that it has handled already, so that a redelivery has no second
// effect. It is a table in the consumer's own database, made by package migrations, with or without an outbox in use
// there. It is safe for concurrent use and holds no connection between calls.
type Inbox struct{ o *Outbox }

// InboxOptions of an Inbox. Nil and zero fields mean the defaults; bad values are refused by NewInbox.
type InboxOptions struct {
	Prefix      string // as in Options
	Schema      string // as in Options
	SkipTxCheck bool   // as in Options
}

// Limits of what Once is given, in bytes. They are the same on every engine.
const (
	MaxConsumerLen  = 255
	MaxMessageIDLen = 255
)

// One row by primary key: who takes it while another transaction has it waits for that one's end.
const (
	insertMessage = `INSERT INTO {inbox} (consumer, message_id, received_ms) VALUES (?, ?, {clock}){count_message}`
	// The same, where the statement sees to it that the transaction is open.
	guardedMessage = `INSERT INTO {inbox} (consumer, message_id, received_ms) VALUES (?, ?, {in_tx_clock}){count_message}`
)

// NewInbox makes an Inbox on db. It talks to no database; Inbox.Check does.
func NewInbox(db *sql.DB, d dialect.Dialect, opts *InboxOptions) (*Inbox, error) {
	if opts == nil {
		opts = &InboxOptions{}
	}
	o, err := newOutbox(db, d, &Options{Prefix: opts.Prefix, Schema: opts.Schema, SkipTxCheck: opts.SkipTxCheck})
	if err != nil {
		return nil, fmt.Errorf("new inbox: %w", err)
	}
	return &Inbox{o}, nil
}

// Once notes in the caller's transaction that consumer handles a message, and answers whether it is the first to do so.
// If it is, the transaction goes on to the effect and commits both; if not, the effect is there already, and the message
// can be acknowledged. After a rollback nothing is noted, and the next call is the first again.
//
//	err := box.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
//		first, err := inbox.Once(ctx, tx, "billing", message.ID)
//		if err != nil || !first {
//			return err
//		}
//		_, err = tx.ExecContext(ctx, …) // the effect
//		return err
//	})
//	// nil: acknowledge. An error: don't, so that the broker delivers again.
//
// Consumer names who handles it: two consumers in one database may each handle a message once. The id must be the same in
// every delivery, as Event.ID is. Both are compared byte by byte. Call it first in the transaction, before anything is read
// for the effect.
//
// A call waits while another transaction has the same message in hand, until that one ends: for its commit, and then
// answers false, or for its rollback, and then answers true. The engine may end the wait with an error instead: when it
// takes too long (lock_timeout, innodb_lock_wait_timeout, busy_timeout); by a deadlock, which MySQL and MariaDB find among
// all but one of those that have waited for a transaction which is rolled back; and by a serialization failure in REPEATABLE
// READ or above. Each is dialect.Conflict to Dialect.Classify. After any error roll back; a redelivery, or running the whole
// transaction again, is safe.
//
// Errors: ErrInvalidOptions (a name that is empty, too long, or not UTF-8 without NUL; the transaction is untouched),
// ErrNoTransaction (nothing was noted), or the driver's own, wrapped.
func (in *Inbox) Once(ctx context.Context, tx Tx, consumer, messageID string) (first bool, err error) {
	if err := checkMessage(consumer, messageID); err != nil {
		return false, fmt.Errorf("once: %w", err)
	}
	if isNil(tx) {
		return false, fmt.Errorf("once: %w: the transaction is nil", ErrNoTransaction)
	}
	if err := ctx.Err(); err != nil {
		return false, fmt.Errorf("once: %w", err)
	}
	guarded, err := in.o.open(ctx, tx)
	if err != nil {
		return false, fmt.Errorf("once: %w", err)
	}
	text := insertMessage
	if guarded {
		text = guardedMessage
	}
	inserted, err := rows.Exec(ctx, tx, in.o.sql.SQL(text), consumer, messageID)
	if err != nil {
		return false, fmt.Errorf("once: insert: %w", in.o.notOpen(guarded, err))
	}
	return inserted == 1, nil
}

func checkMessage(consumer, messageID string) error {
	for _, text := range []struct {
		name, value string
		limit       int
	}{
		{"consumer", consumer, MaxConsumerLen},
		{"message id", messageID, MaxMessageIDLen},
	} {
		if text.value == "" {
			return fmt.Errorf("%w: the %s is empty", ErrInvalidOptions, text.name)
		}
		if reason := plaintext.Bad(text.value, text.limit); reason != "" {
			return fmt.Errorf("%w: the %s %s", ErrInvalidOptions, text.name, reason)
		}
	}
	return nil
}
