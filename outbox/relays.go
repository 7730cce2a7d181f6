package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/inhand"
	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// RelayInfo is a relay that lives, by the database's clock: one whose last sign of life is not older than its lease.
type RelayInfo struct {
	ID      string // of its session, a new one at each start
	Host    string // where it runs, as it says itself
	Process int64  // its process id
	Order   string // "total", "per_key" or "none"
	Since   time.Time
	// Seen is how long ago its last sign of life was. It gives one each third of its lease.
	Seen time.Duration
	// ExpiresIn is how long it counts as alive without another sign of life.
	ExpiresIn time.Duration
	// Partitions are those of relay.OrderPerKey that it owns, ascending. Together the relays own 0 to 63.
	Partitions []int
	// InHand is how many events it was handing over when it last noted that. In relay.OrderNone, where this is noted with
	// the events, it is 0. It is -1 if another release has noted it in a way that can't be read.
	InHand int
}

// A handful of rows, and at most 64: both tables are read whole.
const (
	readRelays = `SELECT id, host, process, order_name, since_ms, seen_ms, until_ms, in_hand FROM {relays}
WHERE ` + owners.NoCrash + ` AND NOT ` + owners.Over + ` ORDER BY since_ms, id`
	readPartitions = `SELECT owner, name FROM {leases} WHERE name LIKE '` + owners.Partition + `%' AND owner <> '' ORDER BY name`
)

// Relays are the relays that live now, in the order in which they started. One that was killed is among them until its
// lease is over.
func (o *Outbox) Relays(ctx context.Context) ([]RelayInfo, error) {
	alive, err := o.relays(ctx, o.db)
	if err != nil {
		return nil, fmt.Errorf("relays: %w", err)
	}
	partitions, err := o.partitions(ctx, o.db)
	if err != nil {
		return nil, fmt.Errorf("relays: partitions: %w", err)
	}
	infos := make([]RelayInfo, len(alive))
	for i, r := range alive {
		infos[i] = r.RelayInfo
		infos[i].Partitions = partitions[r.ID]
	}
	return infos, nil
}

// livingRelay is a row of the relays.
type livingRelay struct {
	RelayInfo
	lease time.Duration
	hand  []int64 // seqs
}

// relays reads the rows of those that live.
func (o *Outbox) relays(ctx context.Context, q rows.Queryer) (out []livingRelay, err error) {
	now, err := o.clock(ctx, q)
	if err != nil {
		return nil, err
	}
	err = rows.Each(ctx, q, o.sql.SQL(readRelays), nil, func(row *sql.Rows) error {
		var r livingRelay
		var since, seen, until int64
		var text string
		if err := row.Scan(&r.ID, &r.Host, &r.Process, &r.Order, &since, &seen, &until, &text); err != nil {
			return err
		}
		r.Since, r.Seen = time.UnixMilli(since), now.Sub(time.UnixMilli(seen))
		r.ExpiresIn, r.lease = time.UnixMilli(until).Sub(now), time.UnixMilli(until).Sub(time.UnixMilli(seen))
		if note, err := inhand.Decode(text); err == nil {
			r.hand, r.InHand = note.Seqs(), len(note.Seqs())
		} else {
			r.InHand = -1
		}
		out = append(out, r)
		return nil
	})
	return out, err
}

// partitions are the owned ones, by owner.
func (o *Outbox) partitions(ctx context.Context, q rows.Queryer) (map[string][]int, error) {
	owned := make(map[string][]int)
	err := rows.Each(ctx, q, o.sql.SQL(readPartitions), nil, func(row *sql.Rows) error {
		var owner, name string
		if err := row.Scan(&owner, &name); err != nil {
			return err
		}
		p, err := owners.PartitionOf(name)
		owned[owner] = append(owned[owner], int(p))
		return err
	})
	return owned, err
}
