package relay

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// Holders, a page at a time by primary key, with the state of their event; -1: it is gone.
const heldPage = `SELECT h.seq, h.event_key, h.partition_no, COALESCE(e.state, -1) FROM {held} h LEFT JOIN {events} e ON e.seq = h.seq
WHERE h.seq > ? ORDER BY h.seq LIMIT ?`

// findStale looks at a page of holders.
func (s *keySource) findStale(ctx context.Context) error {
	if s.heldTo == 0 {
		s.held = false
	}
	s.stale = nil
	n, last := 0, int64(0)
	err := rows.Each(ctx, s.r.db, s.r.sql.SQL(heldPage), []any{s.heldTo, int64(stepRows)}, func(row *sql.Rows) error {
		var b blocker
		var state int64
		err := row.Scan(&b.seq, &b.key, &b.partition, &state)
		n, last = n+1, b.seq
		if _, owned := s.partitions[b.partition]; owned {
			s.held = true
			if state < 0 || stale(s.r.opts, state) {
				s.stale = append(s.stale, b)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if s.heldTo = last; n < stepRows {
		s.heldTo = 0
		s.mayHold = s.held // only this relay makes holders in its partitions
	}
	return nil
}

// letGoStale frees keys whose holder was found to hold nothing any more.
func (s *keySource) letGoStale(ctx context.Context, tx dialect.Tx) (wrote bool, err error) {
	for _, b := range s.stale {
		gone, err := s.isStale(ctx, tx, b)
		if err != nil {
			return wrote, err
		}
		if _, owned := s.partitions[b.partition]; !gone || !owned {
			continue
		}
		if err := s.letGoOf(ctx, tx, b); err != nil {
			return wrote, err
		}
		wrote = true
	}
	return wrote, nil
}

// isStale reports whether a holder holds nothing any more: it is gone or published, or dead and skipped.
func (s *keySource) isStale(ctx context.Context, tx dialect.Tx, b blocker) (bool, error) {
	var state int64
	err := rows.One(ctx, tx, s.r.sql.SQL(heldState), []any{b.seq}, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	return stale(s.r.opts, state), err
}

func stale(o Options, state int64) bool { return state == 1 || state == 2 && o.OnDead == SkipDead }
