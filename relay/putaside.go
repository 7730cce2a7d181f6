package relay

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

const (
	// By (state, seq, partition_no), but for rows that another relay has locked.
	unplaced = `SELECT seq, id, event_key FROM {events}{use_pending} WHERE state <= 0 AND partition_no = -1
ORDER BY state, seq LIMIT ?{lock_skip}`

	// By primary key.
	lockMisplaced = `SELECT seq FROM {events}{use_key} WHERE seq IN ({list}) AND state = 0{lock_skip}`
	setPartition  = `{update_events} SET partition_no = ? WHERE seq IN ({list}) AND state = 0`
	// It failed in another order, and waits for its next try.
	waitAside = `{update_events} SET state = 5, partition_no = ? WHERE seq = ? AND state = 0`
	// A publisher of this process has it still, or for long an event of its key that comes after it.
	waitStuck = `{update_events} SET state = 5, partition_no = ?, due_ms = {clock} + ? WHERE seq = ? AND state = 0`
)

// write puts aside what has to wait.
func (k *keyReader) write(ctx context.Context, tx dialect.Tx) (wrote bool, err error) {
	r := k.s.r
	wrote = len(k.holders)+len(k.early)+len(k.paused)+len(k.behind) > 0
	for _, list := range []struct {
		statement string
		seqs      []int64
	}{{park, k.early}, {pauseList, k.paused}} {
		if len(list.seqs) == 0 {
			continue
		}
		if err := r.execList(ctx, tx, list.statement, list.seqs); err != nil {
			return wrote, fmt.Errorf("put aside: %w", err)
		}
	}
	for _, e := range k.waiting {
		if _, err := rows.Exec(ctx, tx, r.sql.SQL(waitAside), partitionOf(e), e.msg.Seq); err != nil {
			return wrote, fmt.Errorf("put aside: %w", err)
		}
	}
	for _, list := range []struct {
		events []*event
		wait   time.Duration
	}{{k.stuck, r.opts.PublishTimeout}, {k.beside, flushEvery}} {
		for _, e := range list.events {
			if _, err := rows.Exec(ctx, tx, r.sql.SQL(waitStuck), partitionOf(e), list.wait.Milliseconds(), e.msg.Seq); err != nil {
				return wrote, fmt.Errorf("put aside: %w", err)
			}
		}
	}
	if err := k.s.hold(ctx, tx, k.holders); err != nil {
		return wrote, fmt.Errorf("hold keys: %w", err)
	}
	for key, seqs := range k.behind {
		if err := k.s.putBehind(ctx, tx, key, seqs); err != nil {
			return wrote, err
		}
	}
	placed, err := k.place(ctx, tx)
	return wrote || placed, err
}

// place gives rows their partition that had none or another's, but for those that their owner has locked just now.
func (k *keyReader) place(ctx context.Context, tx dialect.Tx) (placed bool, err error) {
	for p, seqs := range k.misplaced {
		text, args := k.s.r.listArgs(lockMisplaced, seqs, nil, nil)
		free, err := rows.Int64s(ctx, tx, text, args...)
		if err != nil {
			return placed, err
		}
		if len(free) == 0 {
			k.t.wait = 0 // where nothing else is taken, that is looked at again soon
			continue
		}
		placed = true
		if err := k.s.r.execListAfter(ctx, tx, setPartition, free, p); err != nil {
			return placed, fmt.Errorf("set partition: %w", err)
		}
	}
	return placed, nil
}

// placeMany gives rows without a partition theirs, so that many of one relay's keys are not in the way of others.
func (s *keySource) placeMany(ctx context.Context, tx dialect.Tx) error {
	byPartition := make(map[int64][]int64)
	err := rows.Each(ctx, tx, s.r.sql.SQL(unplaced), []any{int64(mostStep)}, func(row *sql.Rows) error {
		e := &event{}
		err := row.Scan(&e.msg.Seq, &e.msg.ID, &e.msg.Key)
		p := partitionOf(e)
		byPartition[p] = append(byPartition[p], e.msg.Seq)
		return err
	})
	if err != nil {
		return fmt.Errorf("look for rows without a partition: %w", err)
	}
	for p, seqs := range byPartition {
		for part := range slices.Chunk(seqs, maxBatch) {
			if err := s.r.execListAfter(ctx, tx, setPartition, part, p); err != nil {
				return fmt.Errorf("set partition: %w", err)
			}
		}
	}
	return nil
}
