package relay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// Every outcome names the claim. A claim that another relay has taken over fits no row, and so changes nothing. The
// attempt was counted when it was claimed.
const (
	extendClaimed = `UPDATE {events} SET due_ms = {clock} + ?
WHERE seq IN ({list}) AND claimed_by = ? AND state = 0 AND due_ms > {clock}`
	claimedDelete = `DELETE FROM {events} WHERE seq IN ({list}) AND claimed_by = ? AND state = 0`
	claimedKeep   = `UPDATE {events} SET state = 1, claimed_by = '', due_ms = {clock}, settled_ms = {clock}
WHERE seq IN ({list}) AND claimed_by = ? AND state = 0`
	claimedFailed = `UPDATE {events} SET claimed_by = '', due_ms = {clock} + ?,
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN {clock} ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND claimed_by = ? AND state = 0`
	claimedDead = `UPDATE {events} SET claimed_by = '', state = 2, due_ms = {clock}, settled_ms = {clock},
       first_failed_ms = CASE WHEN first_failed_ms = 0 THEN {clock} ELSE first_failed_ms END, last_error = ?
WHERE seq = ? AND claimed_by = ? AND state = 0`
	// Not handed over, or not the event's fault: the attempt is given back.
	claimedBack = `UPDATE {events} SET claimed_by = '', due_ms = {clock} + ?, attempts = attempts - 1,
       total_attempts = total_attempts - 1
WHERE seq IN ({list}) AND claimed_by = ? AND state = 0`
	countClaimed = `SELECT COUNT(*) FROM {events} WHERE seq IN ({list}) AND claimed_by = ? AND state = 0`
)

func (r *Relay) extendClaim(ctx context.Context, id string, seqs []int64) (n int64, err error) {
	err = txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
		n, err = r.execListWith(ctx, tx, extendClaimed, seqs, []any{r.opts.Lease.Milliseconds()}, []any{id})
		return err
	})
	return n, err
}

// settleClaim records outcomes, trying again until it is known what happened or ctx ends.
func (r *Relay) settleClaim(ctx context.Context, id string, all []ended) error {
	pause := 5 * time.Millisecond
	unknown := false
	for {
		refused := 0
		err := txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
			var err error
			if unknown {
				if done, err := r.noneClaimed(ctx, tx, id, all); err != nil || done {
					return err
				}
			}
			refused, err = r.recordClaimed(ctx, tx, id, all)
			return err
		})
		if err == nil {
			r.refuse(refused)
			return nil
		}
		unknown = unknown || txn.IsUnknown(err)
		r.log.Warn("outcomes could not be recorded yet", "events", len(all), "error", err)
		select {
		case <-ctx.Done():
			return fmt.Errorf("settle: %w", err)
		case <-time.After(jitter(pause)):
			pause = min(2*pause, time.Second)
		}
	}
}

// noneClaimed: after a commit of unknown outcome, no row being claimed any more means that it happened.
func (r *Relay) noneClaimed(ctx context.Context, tx dialect.Tx, id string, all []ended) (bool, error) {
	args := make([]any, 0, len(all)+1)
	for _, x := range all {
		args = append(args, x.e.msg.Seq)
	}
	var n int
	err := queryRow(ctx, tx, r.sql.List(countClaimed, len(all)), append(args, id), &n)
	return n == 0, err
}

// recordClaimed answers how many outcomes fitted no row.
func (r *Relay) recordClaimed(ctx context.Context, tx dialect.Tx, id string, all []ended) (refused int, err error) {
	var done, back []int64
	var wait, changed, outcomes int64
	// One by one in ascending order, as all rows are locked.
	bySeq := func(a, b ended) int { return cmp.Compare(a.e.msg.Seq, b.e.msg.Seq) }
	for _, x := range slices.SortedFunc(slices.Values(all), bySeq) {
		seq, n := x.e.msg.Seq, int64(0)
		outcomes += x.o.recorded()
		switch x.o.verdict {
		case published:
			done = append(done, seq)
		case failed:
			n, err = execTx(ctx, tx, r.sql.SQL(claimedFailed), x.o.wait.Milliseconds(), errorText(x.o.err), seq, id)
		case dead:
			n, err = execTx(ctx, tx, r.sql.SQL(claimedDead), errorText(x.o.err), seq, id)
		default:
			back, wait = append(back, seq), max(wait, x.o.wait.Milliseconds())
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
		changed += n
	}
	if len(back) > 0 {
		if _, err := r.execListWith(ctx, tx, claimedBack, back, []any{wait}, []any{id}); err != nil {
			return 0, err
		}
	}
	return int(outcomes - changed), nil
}
