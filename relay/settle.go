package relay

import (
	"context"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

const (
	// Part of every SET that records a failure: the time of the first one stays.
	firstFailed = `first_failed_ms = CASE WHEN first_failed_ms = 0 THEN {clock} ELSE first_failed_ms END`

	// Outcomes, by primary key.
	settleDelete = `{delete_events} WHERE seq IN ({list}) AND state = 0`
	settleKeep   = `{update_events} SET state = 1, attempts = attempts + 1, total_attempts = total_attempts + 1,
       claimed_by = '', due_ms = {clock}, settled_ms = {clock}
WHERE seq IN ({list}) AND state = 0`
	settleFailed = `{update_events} SET attempts = attempts + 1, total_attempts = total_attempts + 1, claimed_by = '',
       due_ms = {clock} + ?,
       ` + firstFailed + `, last_error = ?
WHERE seq = ? AND state = 0`
	bury = `{update_events} SET attempts = attempts + ?, total_attempts = total_attempts + ?, state = 2,
       claimed_by = '', due_ms = {clock}, settled_ms = {clock},
       ` + firstFailed + `, last_error = ?
WHERE seq = ? AND state = 0`
)

// ended is one event with what came of it.
type ended struct {
	e *event
	o outcome
}

// settle records what has ended, in a turn of an ordered relay. record is how its order does it.
func (r *Relay) settle(ctx context.Context, tx dialect.Tx, all []ended, record func(context.Context, dialect.Tx, []ended) error) error {
	if err := r.recheck(ctx, tx, all); err != nil {
		return err
	}
	if err := record(ctx, tx, all); err != nil {
		return err
	}
	return r.closeCrashes(ctx, tx, all)
}

// record writes outcomes. Untouched events and those that only met an unavailable destination stay as they are.
func (r *Relay) record(ctx context.Context, tx dialect.Tx, all []ended) error {
	done := make([]int64, 0, len(all))
	for _, x := range all {
		seq := x.e.msg.Seq
		var err error
		switch x.o.verdict {
		case published:
			done = append(done, seq)
		case failed:
			_, err = rows.Exec(ctx, tx, r.sql.SQL(settleFailed), x.o.wait.Milliseconds(), errorText(x.o.err), seq)
		case dead:
			_, err = rows.Exec(ctx, tx, r.sql.SQL(bury), 1, 1, errorText(x.o.err), seq)
		}
		if err != nil {
			return err
		}
	}
	if len(done) == 0 {
		return nil
	}
	if r.feeds() {
		return r.settleInFeed(ctx, tx, publishedOf(all))
	}
	if r.opts.Retention > 0 {
		return r.execList(ctx, tx, settleKeep, done)
	}
	if err := r.execList(ctx, tx, settleDelete, done); err != nil {
		return err
	}
	return r.dropRecords(ctx, tx, done, true)
}

func publishedOf(all []ended) (events []*event) {
	for _, x := range all {
		if x.o.verdict == published {
			events = append(events, x.e)
		}
	}
	return events
}

// tell reports outcomes that are recorded to the observers and the log, and counts the published.
func (r *Relay) tell(all []ended) (n int) {
	for _, x := range all {
		m := x.e.msg
		if isPostponed(x.o.err) {
			r.log.Info("event waits", "id", m.ID, "topic", m.Topic, "next", x.o.wait, "reason", errorText(x.o.err))
			continue
		}
		switch x.o.verdict {
		case published:
			n++
			for _, h := range r.hooks.published {
				h.Published(m, x.o.took)
			}
		case failed, unavailable:
			r.log.Warn("hand-over failed", "id", m.ID, "topic", m.Topic, "attempt", m.Attempt, "next", x.o.wait, "error", errorText(x.o.err))
			for _, h := range r.hooks.failed {
				h.Failed(m, x.o.err, x.o.wait)
			}
		case dead:
			r.log.Error("event is a dead letter", "id", m.ID, "topic", m.Topic, "attempt", m.Attempt, "error", errorText(x.o.err))
			for _, h := range r.hooks.dead {
				h.Dead(m, x.o.err)
			}
		}
	}
	return n
}
