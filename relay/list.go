package relay

import (
	"context"
	"iter"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
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
	return rows.Exec(ctx, tx, text, args...)
}

// listArgs fills in a list.
func (r *Relay) listArgs(statement string, seqs []int64, before, after []any) (string, []any) {
	return r.sql.ListOf(statement, seqs, before, after)
}

// slicesOf cuts seqs into parts of at most n.
func slicesOf(seqs []int64, n int) iter.Seq[[]int64] { return slices.Chunk(seqs, n) }
