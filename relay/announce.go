package relay

import (
	"context"
	"fmt"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/topics"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// Handlers are rows, so that all processes know which an event needs. A new one is announced first, without a beginning,
// and gets its beginning afterwards, behind all that is there by then: an event that was handed over by a process which did
// not know it yet was there before, and so is not one of its.
const (
	insertHandler = `INSERT INTO {handlers} (name, topics, from_seq, since_ms) VALUES (?, ?, ?, {clock}){ignore_name}`

	// By primary key.
	findHandler = `SELECT topics, retired_ms, from_seq, replayed_to FROM {handlers} WHERE name = ?{lock}`
	setTopics   = `UPDATE {handlers} SET topics = ? WHERE name = ?`
	setReplayed = `UPDATE {handlers} SET replayed_to = ? WHERE name = ?`

	// The last entry of the primary key.
	nextSeq       = `SELECT COALESCE(MAX(seq), 0) + 1 FROM {events}`
	decideHandler = `UPDATE {handlers} SET from_seq = (SELECT COALESCE(MAX(seq), 0) + 1 FROM {events}) WHERE name = ? AND from_seq < 0`
)

// Announce makes the handlers known to the database, and puts back what those that begin with the oldest event are to have
// from before. A relay does it when it starts to work: call it before, after New, where events are written at once that
// new handlers are to have. Errors: ErrHandlerRetired, also for a topic that is retired; ErrHandlerRenamed; or what the
// database says, and then it may be called again.
func (h *Handlers) Announce(ctx context.Context) error {
	if h.relay == nil {
		return errNoRelay
	}
	h.announcing.Lock()
	defer h.announcing.Unlock()
	if h.announced {
		return nil
	}
	if err := h.announce(ctx); err != nil {
		return err
	}
	if err := h.replay(ctx); err != nil {
		return err
	}
	h.announced = true
	return nil
}

// announce makes this process's handlers known.
func (h *Handlers) announce(ctx context.Context) error {
	for _, one := range h.all {
		bounded, cancel := h.relay.bounded(ctx)
		err := h.announceOne(bounded, one)
		if err == nil {
			err = h.decide(bounded, one.first)
		}
		cancel()
		if err != nil {
			return fmt.Errorf("announce handler %q: %w", one.Name, err)
		}
	}
	all, err := h.byFirstName()
	if err != nil {
		return err
	}
	h.known.Store(&all)
	return nil
}

func (h *Handlers) announceOne(ctx context.Context, one *handler) error {
	return txn.Run(ctx, h.own, h.d, func(tx dialect.Tx) (err error) {
		if one.first, err = h.firstName(ctx, tx, one); err != nil {
			return err
		}
		have, err := h.find(ctx, tx, one.first)
		switch {
		case err != nil:
			return err
		case have.retired != 0:
			return ErrHandlerRetired
		}
		return h.addTopics(ctx, tx, one, have.topics)
	})
}

type handlerRow struct {
	topics                  []byte
	retired, from, replayed int64
}

func (h *Handlers) find(ctx context.Context, tx dialect.Tx, name string) (row handlerRow, err error) {
	err = rows.One(ctx, tx, h.sql.SQL(findHandler), []any{name}, &row.topics, &row.retired, &row.from, &row.replayed)
	return row, err
}

// insert makes a handler known under its first name, unless another process has been faster.
func (h *Handlers) insert(ctx context.Context, tx dialect.Tx, one *handler, first string) error {
	text, err := topics.Encode(topics.Of(one.Topics))
	if err != nil {
		return err
	}
	from := int64(-1)
	if one.From == FromOldest {
		from = 0
	}
	_, err = rows.Exec(ctx, tx, h.sql.SQL(insertHandler), first, text, from)
	return err
}

// addTopics adds those that are new. None is taken away: another release may have it, and be just restarting.
func (h *Handlers) addTopics(ctx context.Context, tx dialect.Tx, one *handler, text []byte) error {
	have, err := topics.Decode(text)
	if err != nil {
		return err
	}
	all, from := slices.Clone(have), int64(-1) // as with a handler, a beginning comes once it is known
	if one.From == FromOldest {
		from = 0
	}
	for _, topic := range one.Topics {
		switch has, retired := all.Has(topic); {
		case retired:
			return fmt.Errorf("%w: its topic %q", ErrHandlerRetired, topic)
		case !has:
			all = append(all, topics.Pattern{Topic: topic, From: from})
		}
	}
	if len(all.Names()) > len(one.Topics) {
		h.relay.log.Warn("a handler had topics in another release that it has not here; their events wait for that release",
			"handler", one.Name, "topics", all.Names(), "here", one.Topics)
	}
	if len(all) == len(have) {
		return nil
	}
	if text, err = topics.Encode(all); err != nil {
		return err
	}
	if _, err = rows.Exec(ctx, tx, h.sql.SQL(setTopics), text, one.first); err != nil || one.From != FromOldest {
		return err
	}
	_, err = rows.Exec(ctx, tx, h.sql.SQL(setReplayed), 0, one.first) // what is kept is looked through for them
	return err
}

// decide gives a handler its beginning, and those of its topics that have none.
func (h *Handlers) decide(ctx context.Context, name string) error {
	return txn.Run(ctx, h.own, h.d, func(tx dialect.Tx) error {
		if _, err := rows.Exec(ctx, tx, h.sql.SQL(decideHandler), name); err != nil {
			return err
		}
		row, err := h.find(ctx, tx, name)
		if err != nil {
			return err
		}
		all, err := topics.Decode(row.topics)
		if err != nil || !all.Undecided() {
			return err
		}
		var next int64
		if err := rows.One(ctx, tx, h.sql.SQL(nextSeq), nil, &next); err != nil {
			return err
		}
		all.Decide(next)
		text, err := topics.Encode(all)
		if err != nil {
			return err
		}
		_, err = rows.Exec(ctx, tx, h.sql.SQL(setTopics), text, name)
		return err
	})
}
