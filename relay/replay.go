package relay

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/topics"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// A handler that begins with the oldest event has those that are published and kept handed over again, in their old
// places; so has one that gets another topic. Handlers that have a record of an event are not run again. How far that has come stands in the handler's row, in
// the same transaction, so that it goes on where it was cut off.
const (
	// By (state, seq, partition_no), and each record by primary key.
	keptEvents = `SELECT seq, topic, CASE WHEN EXISTS (SELECT 1 FROM {deliveries} d WHERE d.seq = e.seq AND d.handler = ?) THEN 1 ELSE 0 END
FROM (SELECT seq, topic FROM {events}{use_pending} WHERE state > 0 AND state < 2 AND seq > ? ORDER BY state, seq LIMIT ?) e`
	// By primary key. total_attempts stays above attempts: the message says that it was requeued.
	replayList = `{update_events} SET state = 0, attempts = 0, first_failed_ms = 0, settled_ms = 0, due_ms = {clock}
WHERE seq IN ({list}) AND state = 1`
)

// replayed is what replayed_to says when all is replayed.
const replayed = 1<<63 - 1

const replayStep = 200

func (h *Handlers) replay(ctx context.Context) error {
	for _, one := range h.all {
		if one.From != FromOldest {
			continue
		}
		for over := false; !over; {
			err := txn.Run(ctx, h.own, h.d, func(tx dialect.Tx) (err error) {
				over, err = h.replaySome(ctx, tx, one)
				return err
			})
			if err != nil {
				return fmt.Errorf("replay for handler %q: %w", one.Name, err)
			}
		}
	}
	return nil
}

func (h *Handlers) replaySome(ctx context.Context, tx dialect.Tx, one *handler) (over bool, err error) {
	have, err := h.find(ctx, tx, one.first)
	if err != nil || have.replayed == replayed {
		return err == nil, err
	}
	seqs, last, n, err := h.kept(ctx, tx, one, have)
	if err != nil {
		return false, err
	}
	if len(seqs) > 0 {
		if err := h.relay.execList(ctx, tx, replayList, seqs); err != nil {
			return false, err
		}
	}
	if over = n < replayStep; over {
		last = replayed
	}
	_, err = rows.Exec(ctx, tx, h.sql.SQL(setReplayed), last, one.first)
	return over, err
}

// kept are the next published events that a handler has, of n that were looked at: behind its beginning, which it may have
// from a release that began with later ones, and those of its topics.
func (h *Handlers) kept(ctx context.Context, tx dialect.Tx, one *handler, have handlerRow) (seqs []int64, last int64, n int, err error) {
	takes, err := topics.Decode(have.topics)
	if err != nil {
		return nil, 0, 0, err
	}
	after := max(have.replayed, have.from-1)
	last = after
	err = rows.Each(ctx, tx, h.sql.SQL(keptEvents), []any{one.first, after, int64(replayStep)}, func(row *sql.Rows) error {
		var seq int64
		var topic string
		var had int
		err := row.Scan(&seq, &topic, &had)
		last = max(last, seq)
		if n++; had == 0 && topics.Match(one.Topics, topic) && takes.Match(topic, seq) {
			seqs = append(seqs, seq)
		}
		return err
	})
	slices.Sort(seqs) // locked in the order in which everything is
	return seqs, last, n, err
}
