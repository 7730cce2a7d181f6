package relay

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// A partition is a row among the leases, and belongs to the relay whose id it names for as long as that relay's row
// lives: one sign of life renews all of them. It becomes free in two ways only. Its owner gives it back, in a turn that
// leaves nothing of it in hand; or its owner has fallen, and whoever takes that one's row away frees it in the same
// transaction. So no partition has two owners, also while shares move.
//
// Shares follow from the relays that live, in order of their ids: 64 partitions among n, the first (64 mod n) of them
// with one more.
const (
	insertPartitions = `INSERT INTO {leases} (name) VALUES {rows}{ignore_name}`
	partitionRow     = `(?)`

	// A handful of rows. A lease whose owner has no row is free: only a hand that deletes rows leaves such a one behind.
	ownerless      = `(owner = '' OR owner NOT IN (SELECT id FROM {relays}))`
	freePartitions = `SELECT name FROM {leases} WHERE name LIKE '` + owners.Partition + `%'
AND ` + ownerless + ` ORDER BY name LIMIT ?{lock}`
	// Of some that are locked: a statement of its own, since it sees who has registered while the lock was waited for.
	stillFree      = `SELECT name FROM {leases} WHERE name IN ({list}) AND ` + ownerless + ` ORDER BY name`
	takePartitions = `UPDATE {leases} SET owner = ?, token = token + 1, since_ms = {clock}, version = version + 1 WHERE name IN ({list})`
	givePartitions = `UPDATE {leases} SET owner = '', version = version + 1 WHERE name IN ({list}) AND owner = ?`
	ownPartitions  = `SELECT name, token FROM {leases} WHERE owner = ? AND name LIKE '` + owners.Partition + `%' ORDER BY name`
)

func partitionNames(partitions []int64) []any {
	names := make([]any, len(partitions))
	for i, p := range slices.Sorted(slices.Values(partitions)) {
		names[i] = owners.PartitionName(p)
	}
	return names
}

// share is how many partitions the relay at rank among n has; rank counts from 0.
func share(n, rank int) int {
	if n == 0 {
		return 0
	}
	s := outbox.Partitions / n
	if rank < outbox.Partitions%n {
		s++
	}
	return s
}

// balance brings what the relay owns towards its share: it takes what is free, and marks what is too much.
func (s *keySource) balance(ctx context.Context, want, free, known int) error {
	if known < outbox.Partitions {
		var names []any
		for p := range int64(outbox.Partitions) {
			names = append(names, owners.PartitionName(p))
		}
		if _, err := s.r.execText(ctx, s.r.sql.Rows(insertPartitions, partitionRow, len(names)), names...); err != nil {
			return fmt.Errorf("make partitions: %w", err)
		}
		free += outbox.Partitions - known
	}
	if s.unsure {
		if err := s.takeMore(ctx, 0); err != nil {
			return err
		}
	}
	clear(s.leaving)
	if want > len(s.partitions) && free > 0 {
		if err := s.takeMore(ctx, want-len(s.partitions)); err != nil {
			return err
		}
	}
	var all []int64
	for p := range s.partitions {
		all = append(all, p)
	}
	slices.Sort(all)
	all = slices.DeleteFunc(all, s.r.stuck.holdsPartition) // what can't go: a call that was given up is still under way
	stay := max(0, want-(len(s.partitions)-len(all)))
	for _, p := range all[min(stay, len(all)):] {
		s.leaving[p] = true
	}
	return nil
}

// takeMore takes up to n free partitions, and learns what is owned by now.
func (s *keySource) takeMore(ctx context.Context, n int) error {
	r := s.r
	s.unsure = true
	var owned map[int64]int64
	err := txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
		if _, _, err := s.lockRow(ctx, tx); err != nil {
			return err
		}
		var names []string
		if n > 0 {
			var err error
			if names, err = s.lockFree(ctx, tx, n); err != nil {
				return err
			}
		}
		if len(names) > 0 {
			args := append([]any{s.id}, rows.Args(names)...)
			if _, err := rows.Exec(ctx, tx, r.sql.List(takePartitions, len(names)), args...); err != nil {
				return err
			}
		}
		var err error
		owned, err = s.readOwned(ctx, tx)
		return err
	})
	if err != nil {
		if errors.Is(err, ErrLeaseLost) {
			s.lose(err)
		}
		return fmt.Errorf("take partitions: %w", err)
	}
	for p, token := range owned {
		if _, had := s.partitions[p]; !had {
			s.mayHold, s.heldTo = true, 0
			s.fresh[p], s.foundTo = true, foundTo{}
			s.won(owners.PartitionName(p), token)
		}
	}
	for p := range s.partitions {
		if _, has := owned[p]; !has {
			s.gave(owners.PartitionName(p), nil)
		}
	}
	if len(owned) != len(s.partitions) {
		r.log.Info("partitions taken", "relay", s.id, "partitions", len(owned)-len(s.partitions), "owned", len(owned))
	}
	s.partitions, s.unsure = owned, false
	maps.DeleteFunc(s.fresh, func(p int64, _ bool) bool { _, has := owned[p]; return !has })
	return nil
}

// lockFree locks up to n partitions that are free.
func (s *keySource) lockFree(ctx context.Context, tx dialect.Tx, n int) ([]string, error) {
	names, err := rows.Column[string](ctx, tx, s.r.sql.SQL(freePartitions), int64(n))
	if err != nil || len(names) == 0 {
		return nil, err
	}
	return rows.Column[string](ctx, tx, s.r.sql.List(stillFree, len(names)), rows.Args(names)...)
}

func (s *keySource) readOwned(ctx context.Context, tx dialect.Tx) (map[int64]int64, error) {
	owned := make(map[int64]int64)
	err := rows.Each(ctx, tx, s.r.sql.SQL(ownPartitions), []any{s.id}, func(row *sql.Rows) error {
		var name string
		var token int64
		if err := row.Scan(&name, &token); err != nil {
			return err
		}
		p, err := owners.PartitionOf(name)
		owned[p] = token
		return err
	})
	return owned, err
}

// giveBack frees the partitions that are too many, as far as nothing of them is in hand.
func (s *keySource) giveBack(ctx context.Context, tx dialect.Tx, t *turn, left inHand) (wrote bool, err error) {
	t.freed = nil
	if len(s.leaving) == 0 {
		return false, nil
	}
	busy := make(map[int64]bool)
	for _, seq := range left.seqs() {
		if e := s.taken[seq]; e != nil {
			busy[partitionOf(e)] = true
		}
	}
	for _, e := range t.batch {
		busy[partitionOf(e)] = true
	}
	for p := range s.leaving {
		if !busy[p] && !s.r.stuck.holdsPartition(p) {
			t.freed = append(t.freed, p)
		}
	}
	if len(t.freed) == 0 {
		return false, nil
	}
	names := partitionNames(t.freed)
	_, err = rows.Exec(ctx, tx, s.r.sql.List(givePartitions, len(names)), append(names, s.id)...)
	return true, err
}
