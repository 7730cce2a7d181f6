package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

const (
	// By an index on received_ms. What a delivery has in hand just now is left out.
	oldMessages = `SELECT consumer, message_id FROM {inbox}{use_received} WHERE received_ms < ? ORDER BY received_ms LIMIT ?{lock_skip}`

	// By primary key (message_id, consumer). Where only columns of the key are asked for, MariaDB reads all of a small table,
	// hint or not, and waits for every delivery under way; so it does for a key that begins with the consumer.
	purgeMessages = `{delete_inbox} WHERE received_ms < ? AND consumer = ? AND message_id IN ({list})`
)

// Purge forgets messages that were first handled longer ago than olderThan, by the database's clock, and answers how many,
// also beside an error. It works in steps of at most 500 that commit by themselves and lock nothing but the rows they
// delete; several may run at once. Nothing calls it by itself: call it now and then, as once an hour.
//
// What is forgotten and delivered again takes effect again. So olderThan must exceed the longest time after which a message
// can still come: the broker's retries and retention, the time a dead letter may lie before it is requeued, a consumer's
// longest outage. Rather a month than a day.
func (in *Inbox) Purge(ctx context.Context, olderThan time.Duration) (int, error) {
	if olderThan <= 0 {
		return 0, fmt.Errorf("purge inbox: %w: olderThan %v: must be more than 0", ErrInvalidOptions, olderThan)
	}
	now, err := in.o.Clock(ctx)
	if err != nil {
		return 0, fmt.Errorf("purge inbox: %w", err)
	}
	before := now.Add(-olderThan).UnixMilli()
	total, err := in.o.inSteps(ctx, func(tx dialect.Tx, limit int) (found, deleted int, err error) {
		old, err := in.old(ctx, tx, before, limit)
		if err != nil {
			return 0, 0, err
		}
		deleted, err = in.forget(ctx, tx, before, old)
		return len(old), deleted, err
	})
	if err != nil {
		return total, fmt.Errorf("purge inbox: %w", err)
	}
	return total, nil
}

type message struct{ consumer, id string }

// old are messages to forget, by consumer and id.
func (in *Inbox) old(ctx context.Context, tx dialect.Tx, before int64, limit int) (old []message, err error) {
	err = rows.Each(ctx, tx, in.o.sql.SQL(oldMessages), []any{before, int64(limit)}, func(row *sql.Rows) error {
		var m message
		err := row.Scan(&m.consumer, &m.id)
		old = append(old, m)
		return err
	})
	slices.SortFunc(old, func(a, b message) int {
		return cmp.Or(strings.Compare(a.consumer, b.consumer), strings.Compare(a.id, b.id))
	})
	return old, err
}

// forget deletes sorted messages, one statement a consumer.
func (in *Inbox) forget(ctx context.Context, tx dialect.Tx, before int64, old []message) (deleted int, err error) {
	for len(old) > 0 {
		n := 0
		args := []any{before, old[0].consumer}
		for n < len(old) && old[n].consumer == old[0].consumer {
			args = append(args, old[n].id)
			n++
		}
		old = old[n:]
		gone, err := rows.Exec(ctx, tx, in.o.sql.List(purgeMessages, n), args...)
		if err != nil {
			return 0, err
		}
		deleted += int(gone)
	}
	return deleted, nil
}
