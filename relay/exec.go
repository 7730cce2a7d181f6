package relay

import (
	"context"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/txn"
)

// exec runs one statement by itself.
func (r *Relay) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	return r.execText(ctx, r.sql.SQL(statement), args...)
}

// execText is exec for a text that is filled in already.
func (r *Relay) execText(ctx context.Context, text string, args ...any) (int64, error) {
	var n int64
	err := txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
		var err error
		n, err = rows.Exec(ctx, tx, text, args...)
		return err
	})
	return n, err
}

// stepRows is how many rows one step changes: few enough to commit in milliseconds.
const stepRows = maxBatch / 2

// inSteps changes all rows that find answers by their seq, a step at a time. find ends with a LIMIT, and finds a row no
// more once it is changed.
func (r *Relay) inSteps(ctx context.Context, find, change string) error {
	for {
		if n, err := r.step(ctx, find, nil, change); err != nil || n < stepRows {
			return err
		}
	}
}

// someSteps is inSteps for as long as half a Poll, so that turns come in between, and no longer than a look has time for. args
// stand before the LIMIT. It answers how many it has changed, and whether that is not all.
func (r *Relay) someSteps(ctx context.Context, find string, args []any, change string) (changed int, more bool, err error) {
	for from := r.now().Mono; ; {
		n, err := r.step(ctx, find, args, change)
		changed += n
		if err != nil || n < stepRows || r.now().Mono-from >= min(r.opts.Poll/2, r.bookkeeping()/4) {
			return changed, n == stepRows, err
		}
	}
}

func (r *Relay) step(ctx context.Context, find string, args []any, change string) (n int, err error) {
	err = txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
		seqs, err := rows.Int64s(ctx, tx, r.sql.SQL(find), slices.Concat(args, []any{int64(stepRows)})...)
		n = len(seqs)
		if err != nil || n == 0 {
			return err
		}
		return r.execList(ctx, tx, change, seqs)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}
