package webhook

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/fanout"
	"github.com/sqloutbox/sqloutbox/internal/invalid"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/outbox"
)

const (
	// By primary key, locked so that two refills take turns.
	lockTopics = `SELECT topics FROM {subscriptions} WHERE id = ? AND state <= 2{lock}`
	// By the feed's primary key, and each event by its own. What has been purged is not there.
	published = `SELECT f.feed_seq, e.seq, e.topic FROM {feed} f JOIN {events} e ON e.seq = f.seq
WHERE f.feed_seq >= ? AND f.feed_seq <= ? ORDER BY f.feed_seq LIMIT ?`
	// By primary key.
	delivered = `SELECT feed_seq FROM {webhook_deliveries} WHERE subscription_id = ? AND feed_seq >= ? AND feed_seq <= ?`
)

// refillRows is how many events a step looks at; so many become due a second.
const refillRows = 500

// Refill makes the deliveries that a subscription has missed, paused or disabled, from a position in the feed on, such as
// Info.MissedFrom: of events that are kept and have one of its topics. Nothing that was delivered is made again, whatever
// Retention has deleted. It answers how many it made, also beside an error: steps commit by themselves, and another call goes on
// where this one ended. An ordered subscription gets them before what else it is owed.
//
// Errors: ErrUnknownSubscription; outbox.ErrInvalidOptions for what can't be a name, or a position below 1; outbox.ErrGone, a *GoneError, beside
// the rest being made, where part of what was missed from there on is purged. That stays in Info until it is given up by a
// Refill from a position that is kept.
func (w *Webhooks) Refill(ctx context.Context, name string, from int64) (int, error) {
	r, err := w.newRefill(ctx, name, from, 1<<63-2)
	if err == nil {
		err = r.missed(ctx)
	}
	return r.result(err)
}

// RefillRange makes deliveries of all events between two positions in the feed, both taken, that are kept, have one of the
// subscription's topics, and have no delivery in whatever state: of what was published before there was the subscription, or
// numbered by a back-fill. What was delivered so long ago that Retention has deleted its delivery is made again. to 0: up to the
// last position. Its answer and its errors are those of Refill, with ErrGone where part of the range is purged.
func (w *Webhooks) RefillRange(ctx context.Context, name string, from, to int64) (int, error) {
	if to == 0 {
		to = 1<<63 - 2
	}
	r, err := w.newRefill(ctx, name, from, to)
	if err == nil {
		err = r.missed(ctx) // what else is in the range has no mark in its place
	}
	if err == nil {
		err = r.rest(ctx)
	}
	return r.result(err)
}

// refill is one under way.
type refill struct {
	w        *Webhooks
	id       int64
	from, to int64
	total    int
	gone     *outbox.GoneError
}

func (w *Webhooks) newRefill(ctx context.Context, name string, from, to int64) (*refill, error) {
	r := &refill{w: w, from: from, to: to}
	if err := checkName(name); err != nil {
		return r, err
	}
	if from < 1 || to < from {
		return r, fmt.Errorf("%w: positions %d to %d: the first is 1", invalid.ErrOptions, from, to)
	}
	return r, w.change(ctx, func(tx dialect.Tx, head int64) (err error) {
		r.to = min(to, head)
		if r.id, err = w.find(ctx, tx, name); err != nil {
			return err
		}
		return w.closeMissed(ctx, tx, r.id, head)
	})
}

func (r *refill) result(err error) (int, error) {
	if r.total > 0 {
		r.w.Wake()
	}
	if err == nil && r.gone != nil {
		err = r.gone
	}
	if err != nil {
		err = fmt.Errorf("refill: %w", err)
	}
	return r.total, err
}

// missed makes what the marks say, a step of a mark at a time.
func (r *refill) missed(ctx context.Context) error {
	for more := true; more; {
		n := 0
		err := r.w.run(ctx, func(tx dialect.Tx) (err error) {
			n, more, err = r.missedStep(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
		r.total += n
	}
	return nil
}

func (r *refill) missedStep(ctx context.Context, tx dialect.Tx) (made int, more bool, err error) {
	patterns, err := r.topics(ctx, tx)
	if err != nil {
		return 0, false, err
	}
	oldest, err := r.oldest(ctx, tx)
	if err != nil {
		return 0, false, err
	}
	all, err := r.w.missedRanges(ctx, tx, r.id)
	if err != nil {
		return 0, false, err
	}
	for _, m := range all {
		from, to := max(m.from, r.from), min(m.to, r.to)
		if m.to < r.from {
			if m.to < oldest.Seq+1 { // given up: the caller asks for what is kept
				if err := r.w.dropMissed(ctx, tx, r.id, m); err != nil {
					return 0, false, err
				}
			}
			continue
		}
		left := missedRange{from: max(m.from, min(oldest.Seq+1, from)), to: from - 1}
		if from <= oldest.Seq {
			r.gone = &outbox.GoneError{Oldest: oldest}
			left, from = missedRange{from: m.from, to: oldest.Seq}, oldest.Seq+1
		}
		if from > to {
			continue
		}
		n, last, err := r.make(ctx, tx, patterns, from, to, &m)
		if err != nil {
			return 0, false, err
		}
		right := missedRange{from: last + 1, to: m.to}
		owed := max(m.n-int64(n), 0)
		left.n = min(owed, max(left.to-left.from+1, 0))
		right.n = owed - left.n
		for _, part := range []missedRange{left, right} {
			if part.from <= part.to {
				if err := r.w.markMissed(ctx, tx, r.id, part); err != nil {
					return 0, false, err
				}
			}
		}
		return n, true, nil
	}
	return 0, false, nil
}

// rest makes what has no delivery in the range.
func (r *refill) rest(ctx context.Context) error {
	for at := r.from; at <= r.to; {
		n, last := 0, at
		err := r.w.run(ctx, func(tx dialect.Tx) error {
			patterns, err := r.topics(ctx, tx)
			if err != nil {
				return err
			}
			oldest, err := r.oldest(ctx, tx)
			if err != nil {
				return err
			}
			if at <= oldest.Seq {
				r.gone = &outbox.GoneError{Oldest: oldest}
			}
			n, last, err = r.make(ctx, tx, patterns, at, r.to, nil)
			return err
		})
		if err != nil {
			return err
		}
		r.total, at = r.total+n, last+1
	}
	return nil
}

// make makes deliveries from one position on, in place of a mark, and answers up to where it came.
func (r *refill) make(ctx context.Context, tx dialect.Tx, patterns []string, from, to int64, mark *missedRange) (made int, last int64, err error) {
	var wanted []fanout.Event
	n := 0
	err = rows.Each(ctx, tx, r.w.sql.SQL(published), []any{from, to, int64(refillRows)}, func(row *sql.Rows) error {
		var e fanout.Event
		err := row.Scan(&e.FeedSeq, &e.Seq, &e.Topic)
		n, last = n+1, e.FeedSeq
		if fanout.Match(patterns, e.Topic) {
			wanted = append(wanted, e)
		}
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	if n < refillRows {
		last = to
	}
	if mark != nil {
		if err := r.w.dropMissed(ctx, tx, r.id, *mark); err != nil {
			return 0, 0, err
		}
	}
	there, err := rows.Int64s(ctx, tx, r.w.sql.SQL(delivered), r.id, from, last)
	if err != nil {
		return 0, 0, err
	}
	wanted = without(wanted, there)
	wait := int64(r.total/refillRows) * 1000
	return len(wanted), last, fanout.Insert(ctx, tx, r.w.sql, fanout.Rows(r.id, wanted, wait))
}

func (r *refill) topics(ctx context.Context, tx dialect.Tx) ([]string, error) {
	var text []byte
	if err := rows.One(ctx, tx, r.w.sql.SQL(lockTopics), []any{r.id}, &text); err != nil {
		if isNone(err) {
			err = ErrUnknownSubscription
		}
		return nil, err
	}
	return fanout.DecodeTopics(text)
}

func without(events []fanout.Event, there []int64) []fanout.Event {
	has := make(map[int64]bool, len(there))
	for _, n := range there {
		has[n] = true
	}
	var out []fanout.Event
	for _, e := range events {
		if !has[e.FeedSeq] {
			out = append(out, e)
		}
	}
	return out
}
