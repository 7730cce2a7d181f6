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
// more once it is changed; args stand before its LIMIT, before stands before the list of change.
func (r *Relay) inSteps(ctx context.Context, find string, args []any, change string, before ...any) error {
	for {
		if more, err := r.step(ctx, find, args, change, before...); err != nil || !more {
			return err
		}
	}
}

// someSteps is inSteps for as long as half a Poll, so that turns come in between, and no longer than a look has time for. more tells
// that it has not changed all.
func (r *Relay) someSteps(ctx context.Context, find string, args []any, change string) (more bool, err error) {
	for from := r.now().Mono; ; {
		more, err = r.step(ctx, find, args, change)
		if err != nil || !more || r.now().Mono-from >= min(r.opts.Poll/2, r.bookkeeping()/4) {
			return more, err
		}
	}
}

func (r *Relay) step(ctx context.Context, find string, args []any, change string, before ...any) (more bool, err error) {
	n := 0
	err = txn.Run(ctx, r.db, r.d, func(tx dialect.Tx) error {
		seqs, err := rows.Int64s(ctx, tx, r.sql.SQL(find), slices.Concat(args, []any{int64(stepRows)})...)
		n = len(seqs)
		if err != nil || n == 0 {
			return err
		}
		return r.execListAfter(ctx, tx, change, seqs, before...)
	})
	return n == stepRows && err == nil, err
}
