// Package owners names what packages relay and outbox both say about who owns what: rows of the leases and the relays.
package owners

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

// What a relay's row says of its order. A row with Crash is no relay's: it is what a crash has left.
const (
	Total  = "total" // also the name of that order's lease
	PerKey = "per_key"
	None   = "none"
	Crash  = "crash"
)

// Names of leases, beside that of relay.OrderTotal.
const (
	// Partition begins those of the partitions of relay.OrderPerKey; the number comes after it, in two digits.
	Partition = "key/"
	// OrderLock is no lease but a row to lock: relays register behind it one after another, and whoever changes what their
	// orders depend on holds it.
	OrderLock = "order"
)

// Conditions of a relay's row.
const (
	NoCrash = `order_name <> '` + Crash + `'`
	// Over is the condition of a relay that has fallen: its time has passed, or is further ahead than two leases, which only
	// a clock that was set back can leave behind. All others live.
	Over = `(until_ms <= {clock} OR until_ms > {clock} + 2 * (until_ms - seen_ms))`
)

const (
	InsertLease = `INSERT INTO {leases} (name) VALUES (?){ignore_name}`
	lockOrder   = `SELECT version FROM {leases} WHERE name = '` + OrderLock + `'{lock}`
)

// LockOrder holds the row OrderLock, which is there, until tx ends.
func LockOrder(ctx context.Context, tx rows.Queryer, r *sqltext.Renderer) error {
	var version int64
	return rows.One(ctx, tx, r.SQL(lockOrder), nil, &version)
}

// PartitionName is the name of a partition's lease.
func PartitionName(p int64) string { return fmt.Sprintf("%s%02d", Partition, p) }

// PartitionOf is the partition of a lease.
func PartitionOf(name string) (int64, error) {
	p, err := strconv.ParseInt(strings.TrimPrefix(name, Partition), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("lease %q: %w", name, err)
	}
	return p, nil
}
