package relay

import (
	"context"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// execList runs a statement over rows by primary key, in ascending order.
func (r *Relay) execList(ctx context.Context, tx dialect.Execer, statement string, seqs []int64) error {
	_, err := r.execListWith(ctx, tx, statement, seqs, nil, nil)
	return err
}

// execListAfter is execList for a statement with args before its list.
func (r *Relay) execListAfter(ctx context.Context, tx dialect.Execer, statement string, seqs []int64, before ...any) error {
	_, err := r.execListWith(ctx, tx, statement, seqs, before, nil)
	return err
}

// execListWith answers how many rows were changed. The list is filled up to a power of two with its last seq, so that
// an engine sees few different texts and can keep their plans.
func (r *Relay) execListWith(ctx context.Context, tx dialect.Execer, statement string, seqs []int64, before, after []any) (int64, error) {
	slices.Sort(seqs)
	n := 1
	for n < len(seqs) {
		n *= 2
	}
	n = min(n, max(maxBatch, len(seqs)))
	args := make([]any, 0, len(before)+n+len(after))
	args = append(args, before...)
	for i := range n {
		args = append(args, seqs[min(i, len(seqs)-1)])
	}
	args = append(args, after...)
	return execTx(ctx, tx, r.sql.List(statement, n), args...)
}
