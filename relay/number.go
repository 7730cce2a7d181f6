package relay

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/feedno"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// With Options.Feed of the outbox, what is published gets its place in the feed in the transaction that settles it. An event
// that is there no more gets none, and one that has a number, since it was put back after it was published, keeps it.
const (
	// By primary key. Nobody else settles what the relay owns, or the fence rolls all of it back.
	unnumbered = `SELECT seq, feed_seq FROM {events} WHERE seq IN ({list}) AND state = 0`
	// Locked, so that a claim that has lapsed burns no number, and locks of events are taken before that of the counter.
	unnumberedClaimed = `SELECT seq, feed_seq FROM {events}{use_key} WHERE seq IN ({list}) AND claimed_by = ? AND state = 0{lock}`

	// Part of a SET. The number of an event is for good, though its place in the feed may be purged meanwhile.
	setNumber = `feed_seq = CASE WHEN feed_seq > 0 THEN feed_seq ELSE (SELECT f.feed_seq FROM {feed} f WHERE f.seq = {events}.seq) END`

	settleNumbered = `{update_events} SET state = 1, attempts = attempts + 1, total_attempts = total_attempts + 1,
       claimed_by = '', due_ms = {clock}, settled_ms = {clock}, ` + setNumber + `
WHERE seq IN ({list}) AND state = 0`
	claimedNumbered = `{update_events} SET state = 1, claimed_by = '', due_ms = {clock}, settled_ms = {clock}, ` + setNumber + `
WHERE seq IN ({list}) AND claimed_by = ? AND state = 0`
)

// numbered is an event that got its number in this transaction.
type numbered struct {
	e       *event
	feedSeq int64
}

// feeds reports whether what this relay publishes is numbered.
func (r *Relay) feeds() bool { return r.o.Options().Feed }

// startFeed makes sure that relays of one outbox agree on whether there is a feed. It stands behind the lock of the order.
func (r *Relay) startFeed(ctx context.Context, tx dialect.Tx) error {
	if r.feeds() {
		if err := r.fanout.Expect(ctx, tx); err != nil {
			return err
		}
		return feedno.TurnOn(ctx, tx, r.sql)
	}
	_, on, err := feedno.Read(ctx, tx, r.sql)
	if err == nil && on {
		err = ErrFeed
	}
	return err
}

// settleInFeed records the published events of an ordered relay, in the order in which they ended.
func (r *Relay) settleInFeed(ctx context.Context, tx dialect.Tx, done []*event) error {
	there := make(map[int64]int64, len(done))
	if err := r.findNumbers(ctx, tx, there, unnumbered, seqsOf(done)); err != nil {
		return err
	}
	if _, err := r.number(ctx, tx, done, there); err != nil || len(there) == 0 {
		return err
	}
	return r.execList(ctx, tx, settleNumbered, slices.Collect(maps.Keys(there)))
}

// settleClaimsInFeed is settleInFeed for claims. It answers how many events fitted no row.
func (r *Relay) settleClaimsInFeed(ctx context.Context, tx dialect.Tx, all []ended) (refused int, err error) {
	var done []*event
	byClaim := make(map[*claim][]int64)
	var order []*claim
	for _, x := range all {
		if x.o.verdict != published {
			continue
		}
		if byClaim[x.e.claim] == nil {
			order = append(order, x.e.claim)
		}
		done, byClaim[x.e.claim] = append(done, x.e), append(byClaim[x.e.claim], x.e.msg.Seq)
	}
	fitting := make(map[*claim]map[int64]int64)
	there := make(map[int64]int64, len(done))
	for _, c := range order {
		fitting[c] = make(map[int64]int64)
		if err := r.findNumbers(ctx, tx, fitting[c], unnumberedClaimed, byClaim[c], c.id); err != nil {
			return 0, err
		}
		for seq, number := range fitting[c] {
			there[seq] = number
		}
	}
	if _, err := r.number(ctx, tx, done, there); err != nil {
		return 0, err
	}
	for _, c := range order {
		if len(fitting[c]) == 0 {
			continue
		}
		if _, err := r.execListWith(ctx, tx, claimedNumbered, slices.Collect(maps.Keys(fitting[c])), nil, []any{c.id}); err != nil {
			return 0, err
		}
	}
	return len(done) - len(there), nil
}

// number gives numbers to those of done that are there and have none, and answers them in the order of the feed.
func (r *Relay) number(ctx context.Context, tx dialect.Tx, done []*event, there map[int64]int64) ([]numbered, error) {
	var fresh []feedno.Event
	var out []numbered
	for _, e := range done {
		if has, ok := there[e.msg.Seq]; ok && has == 0 {
			fresh, out = append(fresh, feedno.Event{Seq: e.msg.Seq}), append(out, numbered{e: e})
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	subscriptions, err := feedno.Give(ctx, tx, r.sql, fresh)
	if err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	for i := range out {
		out[i].feedSeq = fresh[i].Number
	}
	return out, r.fanOut(ctx, tx, subscriptions, out)
}

// findNumbers adds the numbers that events have, 0 for none.
func (r *Relay) findNumbers(ctx context.Context, tx dialect.Tx, there map[int64]int64, statement string, seqs []int64, after ...any) error {
	text, args := r.listArgs(statement, seqs, nil, after)
	return rows.Each(ctx, tx, text, args, func(row *sql.Rows) error {
		var seq, number int64
		err := row.Scan(&seq, &number)
		there[seq] = number
		return err
	})
}

func seqsOf(events []*event) []int64 {
	seqs := make([]int64, len(events))
	for i, e := range events {
		seqs[i] = e.msg.Seq
	}
	return seqs
}
