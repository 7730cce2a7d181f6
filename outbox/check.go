package outbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// ErrSchema: a table or a column is missing. Run migrations.Up, or compare with migrations.Check.
var ErrSchema = errors.New("the outbox's tables are missing or behind")

// Every column that this release uses, and no row.
var probes = []string{
	`SELECT seq, id, topic, event_key, partition_no, headers, payload, state, created_ms, due_ms, attempts,
       total_attempts, first_failed_ms, last_error, claimed_by, claim_token, settled_ms, feed_seq
FROM {events}{use_pending} WHERE state = -1`,
	`SELECT seq FROM {events}{use_due} WHERE state = -1`,
	`SELECT name, owner, token, since_ms, until_ms, lease_ms, version FROM {leases} WHERE name = ''`,
	`SELECT id, host, process, order_name, token, since_ms, seen_ms, until_ms, in_hand, version FROM {relays} WHERE id = ''`,
}

// Check asks whether this database will do: the dialect whether the server is of the right kind, new enough and
// writable, and then whether the tables are there (ErrSchema). The error says what to do. A relay asks at start-up.
func (o *Outbox) Check(ctx context.Context) error {
	if err := o.dialect.Check(ctx, o.db); err != nil {
		return fmt.Errorf("check database: %w", err)
	}
	for _, p := range probes {
		rows, err := o.db.QueryContext(ctx, o.sql.SQL(p))
		if err == nil {
			rows.Next()
			err = errors.Join(rows.Err(), rows.Close())
		}
		switch class := o.dialect.Classify(err); {
		case err == nil:
		case class == dialect.SchemaMissing, class == dialect.Other && ctx.Err() == nil:
			return fmt.Errorf("check tables (prefix %q): %w: run migrations.Up with the same prefix: %w", o.opts.Prefix, ErrSchema, err)
		default:
			return fmt.Errorf("check tables: %w", err)
		}
	}
	return nil
}
