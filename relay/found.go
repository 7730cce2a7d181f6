package relay

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

const (
	// By (state, seq, partition_no).
	deadPage  = `SELECT seq, event_key FROM {events}{use_pending} WHERE state > 1 AND state < 3 AND seq > ? ORDER BY state, seq LIMIT ?`
	asidePage = `SELECT seq, event_key FROM {events}{use_pending} WHERE state > 5 AND state < 7 AND seq > ? ORDER BY state, seq LIMIT ?`
)

// foundTo is how far the search for what holds keys has come.
type foundTo struct{ dead, paused int64 }

// findHolders has what other orders have left in partitions that were just taken hold its keys: paused events, and dead
// letters where they are to. It goes page by page, and goes on where it was cut off; only then the partitions are read.
func (s *keySource) findHolders(ctx context.Context) error {
	if len(s.fresh) == 0 {
		return nil
	}
	if s.r.opts.OnDead == HoldKey {
		if err := s.holdPages(ctx, deadPage, &s.foundTo.dead); err != nil {
			return err
		}
	}
	if err := s.holdPages(ctx, asidePage, &s.foundTo.paused); err != nil {
		return err
	}
	clear(s.fresh)
	return nil
}

func (s *keySource) holdPages(ctx context.Context, page string, upTo *int64) error {
	for n := maxBatch; n == maxBatch; {
		var last int64
		err := txn.Run(ctx, s.r.db, s.r.d, func(tx dialect.Tx) error {
			_, _, err := s.lockRow(ctx, tx)
			if err == nil {
				n, last, err = s.holdPage(ctx, tx, page, *upTo)
			}
			return err
		})
		if err != nil {
			return err
		}
		*upTo = max(*upTo, last)
	}
	return nil
}

// holdPage notes holders among the next events, of which there are n up to last. Most have been noted before.
func (s *keySource) holdPage(ctx context.Context, tx dialect.Tx, page string, after int64) (n int, last int64, err error) {
	events := make(map[int64]*event)
	err = rows.Each(ctx, tx, s.r.sql.SQL(page), []any{after, int64(maxBatch)}, func(row *sql.Rows) error {
		e := &event{}
		err := row.Scan(&e.msg.Seq, &e.msg.Key)
		n, last = n+1, e.msg.Seq
		if e.msg.Key != "" && s.fresh[partitionOf(e)] {
			events[last] = e
		}
		return err
	})
	if err != nil || len(events) == 0 {
		return n, last, err
	}
	noted, err := s.heldBySeqs(ctx, tx, slices.Collect(maps.Keys(events)))
	if err != nil {
		return 0, 0, err
	}
	for _, b := range noted {
		delete(events, b.seq)
	}
	return n, last, s.hold(ctx, tx, slices.Collect(maps.Values(events)))
}
