package relay

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/owners"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// A crash with several events in hand makes all of them suspects: claimed_by of each says of which crash. A suspect is
// handed over with nothing else in hand, and noted as alone. A crash with one alone is that event's: it is charged for
// it, and for the crash that made it a suspect if nothing else has explained that one yet. Events that merely shared
// the batch are charged nothing. The crash itself stays as a row among the relays until its suspects are through.
const (
	// By primary key.
	makeCrash = `UPDATE {relays} SET order_name = '` + owners.Crash + `', token = 0, until_ms = 0, in_hand = ?, version = version + 1
WHERE id = ?`
	explainCrash  = `UPDATE {relays} SET in_hand = ?, version = version + 1 WHERE id = ?`
	crashes       = `SELECT id FROM {relays} WHERE order_name = '` + owners.Crash + `' AND until_ms <= {clock}`
	insertCrash   = `INSERT INTO {relays} (id, order_name, until_ms, in_hand) VALUES (?, '` + owners.Crash + `', {clock} + 86400000, ?)`
	countSuspects = `SELECT COUNT(*) FROM {events} WHERE seq IN ({list}) AND claimed_by = ?`
	suspectList   = `{update_events} SET claimed_by = ? WHERE seq IN ({list}) AND state = 0 AND claimed_by = ''`
)

// crash is what the row of a crash says.
type crash struct {
	Suspects  seqList `json:"suspects"`
	Explained bool    `json:"explained,omitempty"` // by an event that did it again alone
}

// alone: a suspect goes by itself, and so does a row that can't be read; with one attempt only, the first crash must
// name its culprit, so every event does.
func (r *Relay) alone(e *event) bool {
	return r.single || e.broken != nil || e.suspect()
}

// choose cuts a batch so that what must go alone does so, with nothing else in hand.
func (r *Relay) choose(batch []*event, empty bool) (chosen []*event, alone bool) {
	for i, e := range batch {
		if !r.alone(e) {
			continue
		}
		if i == 0 && empty {
			return batch[:1], true
		}
		return batch[:i], true
	}
	return batch, false
}

// inherit fences a former owner, and finds out what its crash means. buried is the culprit if this made it a dead
// letter.
func (r *Relay) inherit(ctx context.Context, tx dialect.Tx, owner string) (buried []ended, err error) {
	text, there, err := r.lockRelay(ctx, tx, owner)
	if err != nil || !there { // it had nothing in hand and was swept away
		return nil, err
	}
	return r.inheritFrom(ctx, tx, owner, text)
}

// inheritFrom is inherit for a row that is locked, and says what the owner had in hand.
func (r *Relay) inheritFrom(ctx context.Context, tx dialect.Tx, owner, text string) (buried []ended, err error) {
	had, err := decodeInHand(text)
	if r.sessions.has(owner) { // this very process, which lives
		_, err = rows.Exec(ctx, tx, r.sql.SQL(deleteRelay), owner)
		return nil, err
	}
	if err != nil {
		r.log.Error("what a former owner had in hand can't be read; nobody is charged", "relay", owner, "error", err)
	}
	if len(had.Batch) == 0 {
		if had.Alone != 0 {
			if buried, err = r.chargeAlone(ctx, tx, had.Alone); err != nil {
				return nil, err
			}
		}
		_, err = rows.Exec(ctx, tx, r.sql.SQL(deleteRelay), owner)
		return buried, err
	}
	note, err := json.Marshal(crash{Suspects: had.Batch})
	if err != nil {
		return nil, err
	}
	if _, err := rows.Exec(ctx, tx, r.sql.SQL(makeCrash), string(note), owner); err != nil {
		return nil, err
	}
	for part := range slicesOf(had.Batch, maxBatch) {
		if err := r.execListAfter(ctx, tx, suspectList, part, markSuspect+owner); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// chargeAlone charges the event that was alone when its process ended.
func (r *Relay) chargeAlone(ctx context.Context, tx dialect.Tx, seq int64) (buried []ended, err error) {
	e := &event{msg: Message{Seq: seq}}
	m := &e.msg
	err = rows.One(ctx, tx, r.sql.SQL(lockEvent), []any{seq}, &m.ID, &m.Topic, &m.Key, &m.Attempt, &e.firstFailed, &e.by)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil // settled all the same
	}
	if err != nil {
		return nil, err
	}
	crashes := 1
	if id, ok := strings.CutPrefix(e.by, markSuspect); ok {
		first, err := r.explain(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if first {
			crashes++
			if err := r.chargeWatched(ctx, tx, seq); err != nil {
				return nil, err
			}
		}
	}
	return r.charge(ctx, tx, e, crashes)
}

// explain notes that a crash has found its culprit, and reports whether this is the first.
func (r *Relay) explain(ctx context.Context, tx dialect.Tx, id string) (first bool, err error) {
	text, there, err := r.lockRelay(ctx, tx, id)
	if err != nil {
		return false, err
	}
	if !there { // a crash in OrderNone has no row before
		_, err := rows.Exec(ctx, tx, r.sql.SQL(insertCrash), id, `{"explained":true}`)
		return true, err
	}
	var c crash
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return false, fmt.Errorf("decode crash %s: %w", id, err)
	}
	if c.Explained {
		return false, nil
	}
	c.Explained = true
	note, err := json.Marshal(c)
	if err != nil {
		return false, err
	}
	_, err = rows.Exec(ctx, tx, r.sql.SQL(explainCrash), string(note), id)
	return true, err
}

// closeCrashes deletes the rows of crashes whose last suspect is through.
func (r *Relay) closeCrashes(ctx context.Context, tx dialect.Tx, all []ended) error {
	for _, x := range all {
		id, ok := strings.CutPrefix(x.e.by, markSuspect)
		if !ok || x.o.recorded() == 0 {
			continue
		}
		if err := r.closeCrash(ctx, tx, id, false); err != nil {
			return err
		}
	}
	return nil
}

// closeCrash deletes the row of a crash whose suspects are through. Of one in OrderNone they are not known: it stays for
// a day, which is over then.
func (r *Relay) closeCrash(ctx context.Context, tx dialect.Tx, id string, over bool) error {
	text, there, err := r.lockRelay(ctx, tx, id)
	if err != nil || !there {
		return err
	}
	var c crash
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return fmt.Errorf("decode crash %s: %w", id, err)
	}
	if len(c.Suspects) == 0 && !over {
		return nil
	}
	for part := range slicesOf(c.Suspects, maxBatch/2) {
		var n int
		query, args := r.listArgs(countSuspects, part, nil, []any{markSuspect + id})
		if err := rows.One(ctx, tx, query, args, &n); err != nil || n > 0 {
			return err
		}
	}
	_, err = rows.Exec(ctx, tx, r.sql.SQL(deleteRelay), id)
	return err
}
