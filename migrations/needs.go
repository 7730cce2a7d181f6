package migrations

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// need is what this version of the library needs of one table; more does no harm.
type need struct {
	table   string
	columns []string
	unique  []string // the columns that must be unique together, in the order of the index
	indexes []index  // by name, since hints name them
}

// needs of this version. A test holds them to what the files make.
func needs() []need {
	return []need{
		{
			table: "events",
			columns: []string{
				"seq", "id", "topic", "event_key", "partition_no", "headers", "payload", "state", "created_ms", "due_ms",
				"attempts", "total_attempts", "first_failed_ms", "last_error", "claimed_by", "claim_token", "settled_ms",
				"feed_seq",
			},
			unique: []string{"id"},
			indexes: []index{
				{name: "events_pending", columns: []string{"state", "seq", "partition_no"}},
				{name: "events_due", columns: []string{"state", "due_ms", "seq"}},
			},
		},
		{
			table:   "leases",
			columns: []string{"name", "owner", "token", "since_ms", "until_ms", "lease_ms", "version"},
			unique:  []string{"name"},
		},
		{
			table: "relays",
			columns: []string{
				"id", "host", "process", "order_name", "token", "since_ms", "seen_ms", "until_ms", "in_hand", "version",
			},
			unique: []string{"id"},
		},
		{
			table:   "held",
			columns: []string{"seq", "event_key", "partition_no", "since_ms"},
			unique:  []string{"seq"},
			indexes: []index{{name: "held_keys", columns: []string{"event_key", "seq"}}},
		},
		{table: "pauses", columns: []string{"topic", "since_ms"}, unique: []string{"topic"}},
		{table: "counters", columns: []string{"name", "value", "at_ms"}, unique: []string{"name"}},
		{
			table:   "inbox",
			columns: []string{"consumer", "message_id", "received_ms", "version"},
			unique:  []string{"message_id", "consumer"},
			indexes: []index{{name: "inbox_received", columns: []string{"received_ms"}}},
		},
		{
			table:   "handlers",
			columns: []string{"name", "topics", "former_name", "from_seq", "since_ms", "replayed_to", "retired_ms"},
			unique:  []string{"name"},
		},
		{
			table:   "deliveries",
			columns: []string{"seq", "handler", "state", "attempts", "due_ms", "since_ms", "settled_ms", "last_error"},
			unique:  []string{"seq", "handler"},
			indexes: []index{{name: "deliveries_due", columns: []string{"handler", "state", "due_ms", "seq"}}},
		},
		{table: "feed", columns: []string{"feed_seq", "seq", "published_ms"}, unique: []string{"seq"}},
		{
			table:   "cursors",
			columns: []string{"name", "epoch", "feed_seq", "hold_ms", "seen_ms", "version"},
			unique:  []string{"name"},
		},
		{
			table: "subscriptions",
			columns: []string{
				"id", "name", "url", "topics", "in_order", "headers", "secrets", "state", "since_ms", "reason", "created_ms", "rest_ms",
				"failing_ms", "failures", "kept", "kept_max", "hold_ms", "missed", "missed_from", "version",
			},
			unique: []string{"name"},
		},
		{
			table: "webhook_deliveries",
			columns: []string{
				"subscription_id", "feed_seq", "seq", "state", "due_ms", "attempts", "claimed_by", "created_ms", "settled_ms", "last_status",
				"last_ms", "last_answer", "last_error",
			},
			unique: []string{"subscription_id", "feed_seq"},
			indexes: []index{
				{name: "webhook_deliveries_due", columns: []string{"subscription_id", "state", "due_ms", "feed_seq"}},
				{name: "webhook_deliveries_order", columns: []string{"subscription_id", "state", "feed_seq"}},
			},
		},
	}
}

// lacks says in words what the database lacks. none is true where not even one of the tables exists.
func (m *migrator) lacks(ctx context.Context) (lacks []string, none bool, err error) {
	none = true
	for _, n := range needs() {
		columns, err := m.columns(ctx, n.table)
		if err != nil {
			return nil, false, err
		}
		if len(columns) == 0 {
			lacks = append(lacks, "table "+m.names.table(n.table))
			continue
		}
		none = false
		for _, column := range n.columns {
			if !slices.Contains(columns, column) {
				lacks = append(lacks, fmt.Sprintf("column %s.%s", m.names.table(n.table), column))
			}
		}
		indexes, err := m.indexes(ctx, n.table)
		if err != nil {
			return nil, false, err
		}
		lacks = append(lacks, m.lacksIndexes(n, indexes)...)
	}
	return lacks, none, nil
}

func (m *migrator) lacksIndexes(n need, have []index) []string {
	var lacks []string
	if !slices.ContainsFunc(have, func(i index) bool { return i.unique && slices.Equal(i.columns, n.unique) }) {
		lacks = append(lacks, fmt.Sprintf("unique index on %s (%s)", m.names.table(n.table), strings.Join(n.unique, ", ")))
	}
	for _, want := range n.indexes {
		name := m.names.index(want.name)
		found := slices.ContainsFunc(have, func(i index) bool {
			// Without regard to case: PostgreSQL folds a prefix in capitals.
			return strings.EqualFold(i.name, name) && slices.Equal(i.columns, want.columns)
		})
		if !found {
			lacks = append(lacks, fmt.Sprintf("index %s on %s (%s)", name, m.names.table(n.table), strings.Join(want.columns, ", ")))
		}
	}
	return lacks
}
