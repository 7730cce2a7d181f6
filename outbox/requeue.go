package outbox

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/delivery"
	"github.com/sqloutbox/sqloutbox/internal/plaintext"
	"github.com/sqloutbox/sqloutbox/internal/registry"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// Both change rows by primary key, in ascending order, so that they take locks in the same order as the relay and
// purge; "state = 2" makes one of several operators win each row.
const (
	// Back to pending in its old place: seq stays. total_attempts stays above attempts, which is how a hand-over knows
	// that the event was requeued.
	requeueSeqs = `{update_events}
SET state = 0, attempts = 0, first_failed_ms = 0, settled_ms = 0, claimed_by = '', due_ms = {clock}
WHERE seq IN ({list}) AND state = 2`

	discardSeqs = `{delete_events} WHERE seq IN ({list}) AND state = 2`

	// What became of events in handlers, as delivery.Forget. What is done or rejected stays so.
	forgetFailed = `{delete_deliveries} WHERE state NOT IN (1, 2) AND handler = ? AND seq IN ({list})`

	// By (state, seq, partition_no). Of what another operator changes at the same time the records are not ours.
	lockDead = `SELECT seq, feed_seq FROM {events}{use_pending} WHERE state = 2 AND seq IN ({list}) ORDER BY seq{lock}`

	// All of a handful of rows.
	retiredHandlers = `SELECT name FROM {handlers} WHERE retired_ms > 0`

	// By the unique id.
	seqsOfIDs = `SELECT seq FROM {events} WHERE id IN ({list}) AND state = 2 ORDER BY seq`
)

// stepRows is how many rows one step changes: few enough to commit in milliseconds.
const stepRows = 500

// change is what is done to dead letters.
type change struct {
	discards bool
	records  string // what becomes of their records in handlers
	handlers []string
}

var (
	requeueDead = change{records: forgetFailed}
	discardDead = change{discards: true}
)

// Requeue puts dead letters back, each in its old place: an ordered relay publishes it before anything newer that is
// still pending, but for what is in hand at that moment. Attempts start again from 0; TotalAttempts stays. Ids that are
// not dead letters are left alone, so concurrent calls with the same ids add up to each event once. It answers how many
// were put back, also beside an error: steps of 500 commit by themselves. An id that no event can have is
// ErrInvalidOptions, and nothing is changed. Of relay.Handlers only those are run that are neither done nor have rejected.
func (o *Outbox) Requeue(ctx context.Context, ids ...string) (int, error) {
	n, err := o.changeIDs(ctx, requeueDead, ids)
	return o.changed("requeue", n, err)
}

// RequeueHandlers is Requeue, and these handlers are run again, though they are done or have rejected. A name may be one
// that the handler had before. ErrUnknownHandler: the database does not know one of them, or it is retired; nothing is
// changed then.
func (o *Outbox) RequeueHandlers(ctx context.Context, handlers []string, ids ...string) (int, error) {
	again := requeueDead
	var err error
	if again.handlers, err = o.firstNames(ctx, handlers); err != nil {
		return 0, fmt.Errorf("requeue handlers: %w", err)
	}
	n, err := o.changeIDs(ctx, again, ids)
	return o.changed("requeue handlers", n, err)
}

// firstNames are the names that handlers have records under.
func (o *Outbox) firstNames(ctx context.Context, handlers []string) ([]string, error) {
	names, err := registry.Read(ctx, o.db, o.sql)
	if err != nil {
		return nil, err
	}
	retired, err := rows.Column[string](ctx, o.db, o.sql.SQL(retiredHandlers))
	if err != nil {
		return nil, err
	}
	all := make([]string, len(handlers))
	for i, name := range handlers {
		first, known := names.First(name)
		switch {
		case !known:
			return nil, fmt.Errorf("%w: %q", ErrUnknownHandler, name)
		case slices.Contains(retired, first):
			return nil, fmt.Errorf("%w: %q is retired", ErrUnknownHandler, name)
		}
		all[i] = first
	}
	return all, nil
}

// Discard deletes dead letters for good. One that was published before, and put back, is in the feed: it becomes published
// again. Otherwise it is like Requeue.
func (o *Outbox) Discard(ctx context.Context, ids ...string) (int, error) {
	n, err := o.changeIDs(ctx, discardDead, ids)
	return o.changed("discard", n, err)
}

// RequeueMatching requeues all dead letters that match q, or the oldest q.Limit of them, in steps of 500.
func (o *Outbox) RequeueMatching(ctx context.Context, q DeadLetterQuery) (int, error) {
	n, err := o.changeMatching(ctx, requeueDead, q)
	return o.changed("requeue matching", n, err)
}

// DiscardMatching deletes all dead letters that match q, or the oldest q.Limit of them, in steps of 500.
func (o *Outbox) DiscardMatching(ctx context.Context, q DeadLetterQuery) (int, error) {
	n, err := o.changeMatching(ctx, discardDead, q)
	return o.changed("discard matching", n, err)
}

// changed wakes the relays for what was put back, and for what a dead letter held back that is gone, also beside an error.
func (o *Outbox) changed(operation string, n int, err error) (int, error) {
	if n > 0 {
		o.Wake()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", operation, err)
	}
	return n, err
}

func (o *Outbox) changeIDs(ctx context.Context, c change, ids []string) (int, error) {
	for _, id := range ids {
		if reason := plaintext.Bad(id, MaxIDLen); reason != "" {
			return 0, fmt.Errorf("%w: id %q %s", ErrInvalidOptions, id, reason)
		}
	}
	seqs, err := o.seqsOf(ctx, ids)
	if err != nil {
		return 0, err
	}
	changed := 0
	for step := range slices.Chunk(seqs, stepRows) { // from the oldest on: a relay publishes the first step beside the others
		n := 0
		err := txn.Run(ctx, o.db, o.dialect, func(tx dialect.Tx) (err error) {
			n, err = o.changeDead(ctx, tx, c, step)
			return err
		})
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

// seqsOf are the seqs of events, ascending, by their ids.
func (o *Outbox) seqsOf(ctx context.Context, ids []string) (seqs []int64, err error) {
	for step := range slices.Chunk(ids, stepRows) {
		args := rows.Args(step)
		var some []int64
		err := txn.Retry(ctx, o.dialect, func() (err error) {
			some, err = rows.Int64s(ctx, o.db, o.sql.List(seqsOfIDs, len(args)), args...)
			return err
		})
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, some...)
	}
	slices.Sort(seqs)
	return slices.Compact(seqs), nil
}

func (o *Outbox) changeMatching(ctx context.Context, c change, q DeadLetterQuery) (int, error) {
	if err := q.validate(); err != nil {
		return 0, err
	}
	changed, after := 0, q.After
	for q.Limit == 0 || changed < q.Limit {
		limit := stepRows
		if q.Limit > 0 {
			limit = min(limit, q.Limit-changed)
		}
		text, args := q.statement(deadSeqs, after, limit)
		n, last := 0, after
		err := txn.Run(ctx, o.db, o.dialect, func(tx dialect.Tx) error {
			n, last = 0, after
			seqs, err := rows.Int64s(ctx, tx, o.sql.SQL(text), args...)
			if err != nil || len(seqs) == 0 {
				return err
			}
			last = seqs[len(seqs)-1]
			n, err = o.changeDead(ctx, tx, c, seqs)
			return err
		})
		if err != nil {
			return changed, err
		}
		if last == after {
			break
		}
		changed, after = changed+n, last
	}
	return changed, nil
}

// changeDead changes dead letters and their records in handlers.
func (o *Outbox) changeDead(ctx context.Context, tx dialect.Tx, c change, seqs []int64) (int, error) {
	if len(seqs) == 0 {
		return 0, nil
	}
	text, args := o.sql.ListOf(lockDead, seqs, nil, nil)
	dead, err := readSeqNumbers(ctx, tx, text, args...)
	if err != nil {
		return 0, err
	}
	if c.discards {
		return o.dropDead(ctx, tx, dead)
	}
	seqs = dead.below(math.MaxInt64)
	n, err := o.changeSeqs(ctx, tx, requeueSeqs, seqs)
	if err != nil {
		return 0, err
	}
	if err := o.forget(ctx, tx, c, seqs); err != nil {
		return 0, err
	}
	return n, nil
}

// forget deletes records of events in handlers.
func (o *Outbox) forget(ctx context.Context, tx dialect.Tx, c change, seqs []int64) error {
	if len(seqs) == 0 {
		return nil
	}
	text, args := o.sql.ListOf(delivery.RecordedBy, seqs, nil, nil)
	handlers, err := rows.Column[string](ctx, tx, text, args...)
	if err != nil {
		return err
	}
	for _, handler := range handlers {
		statement := c.records
		if slices.Contains(c.handlers, handler) {
			statement = delivery.Forget
		}
		if _, err := o.changeSeqs(ctx, tx, statement, seqs, handler); err != nil {
			return err
		}
	}
	return nil
}

// changeSeqs runs a statement over rows by primary key and answers how many it changed.
func (o *Outbox) changeSeqs(ctx context.Context, tx dialect.Execer, statement string, seqs []int64, before ...any) (int, error) {
	if len(seqs) == 0 {
		return 0, nil
	}
	text, args := o.sql.ListOf(statement, seqs, before, nil)
	n, err := rows.Exec(ctx, tx, text, args...)
	return int(n), err
}
