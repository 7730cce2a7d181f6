package relay

import (
	"context"
	"errors"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// By primary key.
const (
	lockEvent = `SELECT id, topic, event_key, attempts, first_failed_ms, claimed_by FROM {events} WHERE seq = ? AND state = 0{lock}`

	chargeEvent = `{update_events} SET attempts = attempts + ?, total_attempts = total_attempts + ?, claimed_by = '!',
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN {clock} ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0`

	chargeDead = `{update_events} SET attempts = attempts + ?, total_attempts = total_attempts + ?, state = 2,
       claimed_by = '', due_ms = {clock}, settled_ms = {clock},
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN {clock} ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0`
)

// errCrashed is what a culprit's last_error says.
var errCrashed = errors.New("the relay's process ended during the hand-over")

// charge counts crashes against the event that caused them. There is no backoff: a take-over takes its time. buried is the event if this made it a dead letter.
func (r *Relay) charge(ctx context.Context, tx dialect.Tx, e *event, crashes int) (buried []ended, err error) {
	if err := queryRow(ctx, tx, r.sql.SQL(readClock), nil, &e.readAt); err != nil {
		return nil, err
	}
	e.msg.Attempt += crashes
	n := int64(crashes)
	if r.usedUp(e) {
		_, err = execTx(ctx, tx, r.sql.SQL(chargeDead), n, n, errCrashed.Error(), e.msg.Seq)
		return []ended{{e, outcome{verdict: dead, err: errCrashed}}}, err
	}
	_, err = execTx(ctx, tx, r.sql.SQL(chargeEvent), n, n, errCrashed.Error(), e.msg.Seq)
	return nil, err
}
