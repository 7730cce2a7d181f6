package relay

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// By primary key.
const (
	lockEvent = `SELECT id, topic, event_key, attempts, first_failed_ms FROM {events} WHERE seq = ? AND state = 0{lock}`

	chargeEvent = `UPDATE {events} SET attempts = attempts + ?, total_attempts = total_attempts + ?, due_ms = {clock} + ?,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN {clock} ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0`

	chargeDead = `UPDATE {events} SET attempts = attempts + ?, total_attempts = total_attempts + ?, state = 2,
       due_ms = {clock}, settled_ms = {clock},
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN {clock} ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND state = 0`
)

// errCrashed is what a culprit's last_error says.
var errCrashed = errors.New("the relay's process ended during the hand-over")

// charge counts crashes against the event that caused them. alive is whether it is still to be handed over; buried is
// the event if this made it a dead letter.
func (r *Relay) charge(ctx context.Context, tx dialect.Tx, seq int64, crashes int) (alive bool, buried []ended, err error) {
	e := &event{msg: Message{Seq: seq}, read: r.now()}
	m := &e.msg
	err = queryRow(ctx, tx, r.sql.SQL(lockEvent), []any{seq}, &m.ID, &m.Topic, &m.Key, &m.Attempt, &e.firstFailed)
	if err == sql.ErrNoRows {
		return false, nil, nil // settled all the same
	}
	if err != nil {
		return false, nil, err
	}
	if err := queryRow(ctx, tx, r.sql.SQL(readClock), nil, &e.readAt); err != nil {
		return false, nil, err
	}
	m.Attempt += crashes
	n := int64(crashes)
	if r.usedUp(e) {
		_, err = execTx(ctx, tx, r.sql.SQL(chargeDead), n, n, errCrashed.Error(), seq)
		return false, []ended{{e, outcome{verdict: dead, err: errCrashed}}}, err
	}
	wait := jitter(backoff(r.opts.Backoff, r.opts.BackoffMax, m.Attempt)).Milliseconds()
	_, err = execTx(ctx, tx, r.sql.SQL(chargeEvent), n, n, wait, errCrashed.Error(), seq)
	return true, nil, err
}
