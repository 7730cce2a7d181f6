package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/internal/plaintext"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/tally"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// AllTopics, given to Pause, stops everything.
const AllTopics = "*"

// Pause is a topic that is not handed on for now, or all of them.
type Pause struct {
	Topic string // AllTopics: everything
	Since time.Time
}

const (
	insertPause = `INSERT INTO {pauses} (topic, since_ms) VALUES (?, {clock}){ignore_topic}`
	deletePause = `DELETE FROM {pauses} WHERE topic = ?` // by primary key
	readPauses  = `SELECT topic, since_ms FROM {pauses} ORDER BY topic`

	// A handful of rows.
	countTotal = `SELECT COUNT(*) FROM {relays} WHERE order_name = '` + owners.Total + `' AND NOT ` + owners.Over
)

// Pause stops the handing over of topics, on all relays, until Resume. It is in force on each relay after at most its Poll:
// until then a relay may take more in hand. What is in hand by then is finished, and what is written meanwhile is kept in
// its place. In relay.OrderPerKey a paused event holds what is behind it in its key, whatever its topic.
//
// AllTopics stops everything. Only that can be done in relay.OrderTotal, where one paused topic would stop all others
// behind it: while a relay of that order lives, a single topic is refused with ErrPauseTotal. A topic that is paused
// already stays so. A pattern such as "orders.*" is refused. All topics of a call are paused together, or none.
func (o *Outbox) Pause(ctx context.Context, topics ...string) error {
	topics, err := pauseTopics(topics)
	if err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	if i := slices.IndexFunc(topics, func(topic string) bool { return strings.HasSuffix(topic, ".*") }); i >= 0 {
		return fmt.Errorf("pause: %w: topic %q: a pause is for one topic, or for AllTopics, and not for a pattern", ErrInvalidOptions, topics[i])
	}
	single := slices.ContainsFunc(topics, func(topic string) bool { return topic != AllTopics })
	err = txn.Run(ctx, o.db, o.dialect, func(tx dialect.Tx) error {
		if single {
			if err := o.refuseTotal(ctx, tx); err != nil {
				return err
			}
		}
		_, err := o.forTopics(ctx, tx, insertPause, topics)
		return err
	})
	if err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	return nil
}

// refuseTotal keeps relays from starting until tx ends, and refuses if one of OrderTotal lives.
func (o *Outbox) refuseTotal(ctx context.Context, tx dialect.Tx) error {
	if _, err := tx.ExecContext(ctx, o.sql.SQL(owners.InsertLease), owners.OrderLock); err != nil {
		return err
	}
	if err := owners.LockOrder(ctx, tx, o.sql); err != nil { // a relay of OrderTotal can't start meanwhile
		return err
	}
	var alive int64
	if err := rows.One(ctx, tx, o.sql.SQL(countTotal), nil, &alive); err != nil {
		return err
	}
	if alive > 0 {
		return ErrPauseTotal
	}
	return nil
}

// Resume ends the pause of topics; AllTopics ends the pause of everything, and leaves topics paused that were paused by
// name. The events that were put aside keep their places. They are put back in steps of 500 that commit by themselves;
// if that ends half-way, as with ctx, the pause is over all the same and the relays do the rest. Relays of this process
// go on at once, others after at most their PollMax. A topic that isn't paused is left alone.
func (o *Outbox) Resume(ctx context.Context, topics ...string) error {
	topics, err := pauseTopics(topics)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	err = txn.Run(ctx, o.db, o.dialect, func(tx dialect.Tx) error {
		ended, err := o.forTopics(ctx, tx, deletePause, topics)
		if err != nil || ended == 0 {
			return err
		}
		return tally.Add(ctx, tx, o.sql, tally.Resumed, 1)
	})
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	defer o.Wake()
	if err := o.putBack(ctx); err != nil {
		return fmt.Errorf("resume: the pause is over, but not all is put back yet: %w", err)
	}
	return nil
}

// Pauses are the topics that are paused now, by name.
func (o *Outbox) Pauses(ctx context.Context) ([]Pause, error) {
	pauses, err := o.pauses(ctx, o.db)
	if err != nil {
		return nil, fmt.Errorf("pauses: %w", err)
	}
	return pauses, nil
}

func (o *Outbox) pauses(ctx context.Context, q rows.Queryer) (out []Pause, err error) {
	err = rows.Each(ctx, q, o.sql.SQL(readPauses), nil, func(row *sql.Rows) error {
		var p Pause
		var since int64
		if err := row.Scan(&p.Topic, &since); err != nil {
			return err
		}
		p.Since = time.UnixMilli(since)
		out = append(out, p)
		return nil
	})
	return out, err
}

// allPaused reports whether nothing at all is handed on.
func allPaused(pauses []Pause) bool { return isPaused(pauses, AllTopics) }

// isPaused reports whether topic is paused by name.
func isPaused(pauses []Pause, topic string) bool {
	return slices.ContainsFunc(pauses, func(p Pause) bool { return p.Topic == topic })
}

// forTopics runs a statement for each topic, and answers how many rows they changed.
func (o *Outbox) forTopics(ctx context.Context, tx dialect.Execer, statement string, topics []string) (changed int64, err error) {
	for _, topic := range topics {
		n, err := rows.Exec(ctx, tx, o.sql.SQL(statement), topic)
		if err != nil {
			return 0, err
		}
		changed += n
	}
	return changed, nil
}

// pauseTopics answers with the topics in the order in which all calls lock their rows.
func pauseTopics(topics []string) ([]string, error) {
	if len(topics) == 0 {
		return nil, fmt.Errorf("%w: no topic is given; AllTopics means everything", ErrInvalidOptions)
	}
	for _, topic := range topics {
		if topic == "" {
			return nil, fmt.Errorf("%w: a topic is empty", ErrInvalidOptions)
		}
		if reason := plaintext.Bad(topic, MaxTopicLen); reason != "" {
			return nil, fmt.Errorf("%w: topic %q %s", ErrInvalidOptions, topic, reason)
		}
	}
	topics = slices.Sorted(slices.Values(topics))
	return slices.Compact(topics), nil
}
