package relay

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// A key is held by events that are not through: one that failed, is paused, or is a dead letter under HoldKey. Each has a
// row in the table of held keys, and the one rule is: nothing of the key above the lowest of them is handed over. What
// is met behind it becomes state 4, with the number of its key's group in place of due_ms, so that the group is found by
// (state, due_ms, seq). When the lowest is through, the group is let go up to the next one, a step at a time: the last
// event of a step holds the key until it is through itself.
const (
	insertHeld = `INSERT INTO {held} (seq, event_key, partition_no, since_ms) VALUES {rows}{ignore_seq}`
	heldRow    = `(?, ?, ?, {clock})`

	// By primary key.
	heldBySeqs = `SELECT seq, event_key, partition_no FROM {held} WHERE seq IN ({list}) ORDER BY seq`
	deleteHeld = `DELETE FROM {held} WHERE seq = ?`
	heldState  = `SELECT state FROM {events} WHERE seq = ?{lock}`

	// By (event_key, seq).
	heldKeys = `SELECT event_key, MIN(seq) FROM {held} WHERE event_key IN ({list}) GROUP BY event_key`
	nextHeld = `SELECT MIN(seq) FROM {held} WHERE event_key = ?`

	// Events, by primary key.
	putBehind = `{update_events} SET state = 4, due_ms = ?, partition_no = ? WHERE seq IN ({list}) AND state = 0`
	// It was due when it was put behind.
	letGoList = `{update_events} SET state = 0, due_ms = created_ms WHERE seq IN ({list}) AND state = 4`

	waitFailed = `{update_events} SET state = 5, partition_no = ?, attempts = attempts + 1, total_attempts = total_attempts + 1,
       claimed_by = '', due_ms = {clock} + ?,
       ` + firstFailed + `, last_error = ?
WHERE seq = ? AND state = 0`

	// Uncharged.
	postpone = `{update_events} SET state = 5, partition_no = ?, claimed_by = '', due_ms = {clock} + ?, last_error = ?
WHERE seq = ? AND state = 0`

	// By (state, due_ms, seq). A group's number is a hash of its key, and so two keys may share it.
	group = `SELECT seq FROM {events}{use_due} WHERE state = 4 AND due_ms = ? AND seq <= ? AND event_key = ?
ORDER BY due_ms, seq LIMIT ?`
)

// blocker is a row of the table of held keys.
type blocker struct {
	seq, partition int64
	key            string
}

// partitionOf is the partition that an event belongs to, whatever its row says.
func partitionOf(e *event) int64 {
	if e.msg.Key == "" {
		return int64(outbox.Partition(e.msg.ID))
	}
	return int64(outbox.Partition(e.msg.Key))
}

// groupOf is the number of a key's group.
func groupOf(key string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // never fails
	return int64(h.Sum64() >> 1)
}

// hold notes that events hold their keys.
func (s *keySource) hold(ctx context.Context, tx dialect.Tx, events []*event) error {
	var args []any
	for _, e := range events {
		if e.msg.Key != "" { // nothing orders events without a key
			args = append(args, e.msg.Seq, e.msg.Key, partitionOf(e))
		}
	}
	for len(args) > 0 {
		n := min(len(args)/3, maxBatch/3)
		s.mayHold, s.held = true, true
		if _, err := rows.Exec(ctx, tx, s.r.sql.Rows(insertHeld, heldRow, n), args[:3*n]...); err != nil {
			return err
		}
		args = args[3*n:]
	}
	return nil
}

// putBehind puts events of a key behind its holder.
func (s *keySource) putBehind(ctx context.Context, tx dialect.Tx, key string, seqs []int64) error {
	if err := s.r.execListAfter(ctx, tx, putBehind, seqs, groupOf(key), int64(outbox.Partition(key))); err != nil {
		return fmt.Errorf("put behind: %w", err)
	}
	return nil
}

// letGo frees keys whose holder is through.
func (s *keySource) letGo(ctx context.Context, tx dialect.Tx, all []ended) (wrote bool, err error) {
	through, err := s.through(ctx, tx, all)
	if err != nil {
		return false, err
	}
	for _, b := range through {
		if err := s.letGoOf(ctx, tx, b); err != nil {
			return false, err
		}
	}
	return len(through) > 0, nil
}

// through are the holders among events that have ended for good.
func (s *keySource) through(ctx context.Context, tx dialect.Tx, all []ended) ([]blocker, error) {
	if !s.mayHold {
		return nil, nil
	}
	var seqs []int64
	for _, x := range all {
		if x.o.verdict == published || x.o.verdict == dead && s.r.opts.OnDead == SkipDead {
			seqs = append(seqs, x.e.msg.Seq)
		}
	}
	if len(seqs) == 0 {
		return nil, nil
	}
	return s.heldBySeqs(ctx, tx, seqs)
}

// heldBySeqs are the holders among these events.
func (s *keySource) heldBySeqs(ctx context.Context, tx dialect.Tx, seqs []int64) ([]blocker, error) {
	text, args := s.r.listArgs(heldBySeqs, seqs, nil, nil)
	var out []blocker
	err := rows.Each(ctx, tx, text, args, func(row *sql.Rows) error {
		var b blocker
		err := row.Scan(&b.seq, &b.key, &b.partition)
		out = append(out, b)
		return err
	})
	return out, err
}

// letGoOf takes away one holder, and lets go of what waited for it: up to the next holder, and a step at a time.
func (s *keySource) letGoOf(ctx context.Context, tx dialect.Tx, b blocker) error {
	r := s.r
	if _, err := rows.Exec(ctx, tx, r.sql.SQL(deleteHeld), b.seq); err != nil {
		return err
	}
	next, err := s.lowestHolder(ctx, tx, b.key)
	if err != nil || next < b.seq {
		return err
	}
	step := r.opts.Batch
	seqs, err := rows.Int64s(ctx, tx, r.sql.SQL(group), groupOf(b.key), next, b.key, int64(step+1))
	if err != nil || len(seqs) == 0 {
		return err
	}
	if len(seqs) > step {
		seqs = seqs[:step]
		last := &event{msg: Message{Seq: seqs[step-1]}}
		last.msg.Key = b.key
		if err := s.hold(ctx, tx, []*event{last}); err != nil {
			return err
		}
	}
	return r.execList(ctx, tx, letGoList, seqs)
}

// lowestHolder is the seq of the event that holds a key, or higher than any.
func (s *keySource) lowestHolder(ctx context.Context, tx dialect.Tx, key string) (int64, error) {
	var seq sql.NullInt64
	if err := rows.One(ctx, tx, s.r.sql.SQL(nextHeld), []any{key}, &seq); err != nil {
		return 0, err
	}
	if !seq.Valid {
		return math.MaxInt64, nil
	}
	return seq.Int64, nil
}

// holders are the lowest holder of each of these keys that has one.
func (s *keySource) holders(ctx context.Context, tx dialect.Tx, events []*event) (map[string]int64, error) {
	lowest := make(map[string]int64)
	if !s.mayHold {
		return lowest, nil
	}
	seen := make(map[string]bool)
	var keys []any
	for _, e := range events {
		if key := e.msg.Key; key != "" && !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return lowest, nil
	}
	for n := len(keys); n&(n-1) != 0; n++ { // few different texts, as with lists of seqs
		keys = append(keys, keys[0])
	}
	err := rows.Each(ctx, tx, s.r.sql.List(heldKeys, len(keys)), keys, func(row *sql.Rows) error {
		var key string
		var seq int64
		err := row.Scan(&key, &seq)
		lowest[key] = seq
		return err
	})
	return lowest, err
}
