package relay

import (
	"context"
	"database/sql"
	"iter"
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

// execListWith answers how many rows were changed.
func (r *Relay) execListWith(ctx context.Context, tx dialect.Execer, statement string, seqs []int64, before, after []any) (int64, error) {
	text, args := r.listArgs(statement, seqs, before, after)
	return execTx(ctx, tx, text, args...)
}

// queryList runs a SELECT with a list, and args after it.
func (r *Relay) queryList(ctx context.Context, tx queryer, statement string, seqs []int64, after ...any) (*sql.Rows, error) {
	text, args := r.listArgs(statement, seqs, nil, after)
	return tx.QueryContext(ctx, text, args...)
}

// listArgs fills in a list in ascending order, the order in which all of this module locks rows. The list is filled up
// to a power of two with its last seq, so that an engine sees few different texts and can keep their plans.
func (r *Relay) listArgs(statement string, seqs []int64, before, after []any) (string, []any) {
	seqs = slices.Sorted(slices.Values(seqs))
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
	return r.sql.List(statement, n), append(args, after...)
}

// slicesOf cuts seqs into parts of at most n.
func slicesOf(seqs []int64, n int) iter.Seq[[]int64] { return slices.Chunk(seqs, n) }
