package relay

import (
	"context"
	"errors"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// By primary key.
const (
	lockEvent = `SELECT id, topic, event_key, attempts, first_failed_ms, claimed_by FROM {events} WHERE seq = ? AND state = 0{lock}`

	// A claim that OrderNone left behind, in an order that counts attempts when they have ended.
	freeClaimed = `{update_events} SET attempts = attempts + ?, total_attempts = total_attempts + ?, claimed_by = ?
WHERE seq = ? AND state = 0`

	chargeEvent = `{update_events} SET attempts = attempts + ?, total_attempts = total_attempts + ?, claimed_by = '!',
       ` + firstFailed + `, last_error = ?
WHERE seq = ? AND state = 0`
)

// errCrashed is what a culprit's last_error says.
var errCrashed = errors.New("the relay's process ended during the hand-over")

// charge counts crashes against the event that caused them. There is no backoff: a take-over takes its time. buried is the event if this made it a dead letter.
func (r *Relay) charge(ctx context.Context, tx dialect.Tx, e *event, crashes int) (buried []ended, err error) {
	if err := rows.One(ctx, tx, r.sql.SQL(readClock), nil, &e.readAt); err != nil {
		return nil, err
	}
	e.read = r.now()
	e.msg.Attempt += crashes
	n := int64(crashes)
	if r.usedUp(e) {
		_, err = rows.Exec(ctx, tx, r.sql.SQL(bury), n, n, errCrashed.Error(), e.msg.Seq)
		return []ended{{e, outcome{verdict: dead, err: errCrashed}}}, err
	}
	_, err = rows.Exec(ctx, tx, r.sql.SQL(chargeEvent), n, n, errCrashed.Error(), e.msg.Seq)
	return nil, err
}

// unclaim frees an event whose claim in OrderNone has lapsed, for a relay that keeps order. buried: its crashes have
// used up its attempts, and it is a dead letter now.
func (r *Relay) unclaim(ctx context.Context, tx dialect.Tx, e *event) (buried bool, err error) {
	l, err := r.lapsed(ctx, tx, e)
	if err != nil {
		return false, err
	}
	if l.crashed && r.crashedOut(e) {
		_, err := rows.Exec(ctx, tx, r.sql.SQL(bury), l.correct, l.correct, errCrashed.Error(), e.msg.Seq)
		return true, err
	}
	if l.crashed {
		if _, err := rows.Exec(ctx, tx, r.sql.SQL(noteCrash), 0, 0, errCrashed.Error(), e.msg.Seq); err != nil {
			return false, err
		}
	}
	e.by = l.mark
	_, err = rows.Exec(ctx, tx, r.sql.SQL(freeClaimed), l.correct, l.correct, l.mark, e.msg.Seq)
	return false, err
}
