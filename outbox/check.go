package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Every column that this release uses, and no row.
var probes = []string{
	`SELECT seq, id, topic, event_key, partition_no, headers, payload, state, created_ms, due_ms, attempts,
       total_attempts, first_failed_ms, last_error, claimed_by, claim_token, settled_ms, feed_seq
FROM {events}{use_pending} WHERE state = -1`,
	`SELECT seq FROM {events}{use_due} WHERE state = -1`,
	`SELECT name, owner, token, since_ms, until_ms, lease_ms, version FROM {leases} WHERE name = ''`,
	`SELECT id, host, process, order_name, token, since_ms, seen_ms, until_ms, in_hand, version FROM {relays} WHERE id = ''`,
	`SELECT seq, event_key, partition_no, since_ms FROM {held} WHERE seq = -1`,
	`SELECT topic, since_ms FROM {pauses} WHERE topic = ''`,
	`SELECT name, value, at_ms FROM {counters} WHERE name = ''`,
	`SELECT name, topics, former_name, from_seq, since_ms, replayed_to, retired_ms FROM {handlers} WHERE name = ''`,
	`SELECT seq, handler, state, attempts, due_ms, since_ms, settled_ms, last_error FROM {deliveries} WHERE seq = -1`,
	`SELECT feed_seq, seq, published_ms FROM {feed} WHERE feed_seq = -1`,
	`SELECT name, epoch, feed_seq, hold_ms, seen_ms, version FROM {cursors} WHERE name = ''`,
	`SELECT id, name, url, topics, in_order, headers, secrets, state, since_ms, reason, created_ms, rest_ms, failing_ms, failures,
       kept, kept_max, hold_ms, missed, missed_from, version
FROM {subscriptions} WHERE id = -1`,
	`SELECT subscription_id, feed_seq, seq, state, due_ms, attempts, claimed_by, created_ms, settled_ms, last_status, last_ms,
       last_answer, last_error
FROM {webhook_deliveries}{use_webhooks_due} WHERE subscription_id = -1`,
	`SELECT seq FROM {webhook_deliveries}{use_webhooks_order} WHERE subscription_id = -1`,
}

var inboxProbes = []string{
	`SELECT consumer, message_id, received_ms, version FROM {inbox}{use_received} WHERE received_ms = -1`,
}

// Check asks whether this database will do: the dialect whether the server is of the right kind, new enough and
// writable, whether the tables are there (ErrSchema), and whether new events would be numbered past all that are there
// or that a table remembers (ErrSequenceBehind; on PostgreSQL a role without SELECT on the sequence can't see it). The
// error says what to do. A relay asks at start-up.
func (o *Outbox) Check(ctx context.Context) error {
	if err := o.dialect.Check(ctx, o.db); err != nil {
		return fmt.Errorf("check database: %w", err)
	}
	if err := o.checkTables(ctx, probes); err != nil {
		return err
	}
	mend, err := o.seqBehind(ctx)
	if err != nil {
		return fmt.Errorf("check numbering: %w", err)
	}
	if mend != "" {
		return fmt.Errorf("check numbering: %w: run %s", ErrSequenceBehind, mend)
	}
	return nil
}

// Check asks whether this database will do for an inbox: the dialect, as in Outbox.Check, and whether the table is there
// (ErrSchema). The error says what to do. Nothing else asks: call it when the consumer starts.
func (in *Inbox) Check(ctx context.Context) error {
	if err := in.o.dialect.Check(ctx, in.o.db); err != nil {
		return fmt.Errorf("check inbox: %w", err)
	}
	if err := in.o.checkTables(ctx, inboxProbes); err != nil {
		return fmt.Errorf("check inbox: %w", err)
	}
	return nil
}

func (o *Outbox) checkTables(ctx context.Context, probes []string) error {
	for _, p := range probes {
		rows, err := o.db.QueryContext(ctx, o.sql.SQL(p))
		if err == nil {
			rows.Next()
			err = errors.Join(rows.Err(), rows.Close())
		}
		switch class := o.dialect.Classify(err); {
		case err == nil:
		case class == dialect.SchemaMissing, class == dialect.Other && ctx.Err() == nil:
			return fmt.Errorf("check tables (prefix %q): %w: run migrations.Up with the same prefix, or let this user read them: %w", o.opts.Prefix, ErrSchema, err)
		default:
			return fmt.Errorf("check tables: %w", err)
		}
	}
	return nil
}
