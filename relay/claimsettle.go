package relay

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// Every outcome names the claim. A claim that another relay has taken over fits no row, and so changes nothing. The
// attempt was counted when it was claimed.
const (
	extendClaimed = `{update_events} SET due_ms = {clock} + ?
WHERE seq IN ({list}) AND claimed_by = ? AND state = 0 AND due_ms > {clock}`
	claimedDelete = `{delete_events} WHERE seq IN ({list}) AND claimed_by = ? AND state = 0`
	claimedKeep   = `{update_events} SET state = 1, claimed_by = '', due_ms = {clock}, settled_ms = {clock}
WHERE seq IN ({list}) AND claimed_by = ? AND state = 0`
	claimedFailed = `{update_events} SET claimed_by = '', due_ms = {clock} + ?,
       ` + firstFailed + `, last_error = ?
WHERE seq = ? AND claimed_by = ? AND state = 0`
	claimedDead = `{update_events} SET claimed_by = '', state = 2, due_ms = {clock}, settled_ms = {clock},
       ` + firstFailed + `, last_error = ?
WHERE seq = ? AND claimed_by = ? AND state = 0`
	// Not handed over, or not the event's fault: the attempt is given back.
	claimedBack = `{update_events} SET claimed_by = '', due_ms = {clock} + ?, attempts = attempts - 1,
       total_attempts = total_attempts - 1
WHERE seq IN ({list}) AND claimed_by = ? AND state = 0`
	// Locked, so that a COMMIT that is still under way is waited for: whoever claims them by now, since PostgreSQL waits for no row that
	// did not fit before.
	lockPending = `SELECT seq, claimed_by FROM {events}{use_key} WHERE seq IN ({list}) AND state = 0{lock}`
)

// recordClaims records outcomes, claim by claim, and answers how many fitted no row.
func (r *Relay) recordClaims(ctx context.Context, tx dialect.Tx, all []ended) (refused int, err error) {
	byClaim := make(map[*claim][]ended)
	var order []*claim
	for _, x := range all {
		c := x.e.claim
		if byClaim[c] == nil {
			order = append(order, c)
		}
		byClaim[c] = append(byClaim[c], x)
	}
	for _, c := range order {
		n, err := r.recordClaimed(ctx, tx, c.id, byClaim[c])
		if err != nil {
			return 0, err
		}
		refused += n
	}
	if r.feeds() {
		n, err := r.settleClaimsInFeed(ctx, tx, all)
		return refused + n, err
	}
	return refused, nil
}

// recordClaimed answers how many outcomes fitted no row.
func (r *Relay) recordClaimed(ctx context.Context, tx dialect.Tx, id string, all []ended) (refused int, err error) {
	var done []int64
	var changed, outcomes int64
	back := make(map[int64][]int64) // by how long they are to wait
	// One by one in ascending order, as all rows are locked.
	bySeq := func(a, b ended) int { return cmp.Compare(a.e.msg.Seq, b.e.msg.Seq) }
	for _, x := range slices.SortedFunc(slices.Values(all), bySeq) {
		seq, n := x.e.msg.Seq, int64(0)
		if x.o.verdict == published && r.feeds() {
			continue // after all else, see settleClaimsInFeed
		}
		outcomes += x.o.recorded()
		switch x.o.verdict {
		case published:
			done = append(done, seq)
		case failed:
			n, err = rows.Exec(ctx, tx, r.sql.SQL(claimedFailed), x.o.wait.Milliseconds(), errorText(x.o.err), seq, id)
		case dead:
			n, err = rows.Exec(ctx, tx, r.sql.SQL(claimedDead), errorText(x.o.err), seq, id)
		default:
			if isElsewhere(x.o.err) {
				err = r.postponeClaimed(ctx, tx, id, x)
			} else {
				wait := x.o.wait.Milliseconds()
				back[wait] = append(back[wait], seq)
			}
		}
		if err != nil {
			return 0, err
		}
		changed += n
	}
	if len(done) > 0 {
		text := claimedDelete
		if r.opts.Retention > 0 {
			text = claimedKeep
		}
		n, err := r.execListWith(ctx, tx, text, done, nil, []any{id})
		if err != nil {
			return 0, err
		}
		if r.opts.Retention == 0 {
			if err := r.dropRecords(ctx, tx, done, int(n) == len(done)); err != nil {
				return 0, err
			}
		}
		changed += n
	}
	for _, wait := range slices.Sorted(maps.Keys(back)) {
		if _, err := r.execListWith(ctx, tx, claimedBack, back[wait], []any{wait}, []any{id}); err != nil {
			return 0, err
		}
	}
	return int(outcomes - changed), nil
}

// postponeClaimed gives back the claim of an event that waits for another process. One that fits no row is another's by now.
func (r *Relay) postponeClaimed(ctx context.Context, tx dialect.Tx, id string, x ended) error {
	wait := []any{x.o.wait.Milliseconds()}
	n, err := r.execListWith(ctx, tx, claimedBack, []int64{x.e.msg.Seq}, wait, []any{id})
	if err != nil || n == 0 {
		return err
	}
	return r.wakeIfServed(ctx, tx, x)
}
