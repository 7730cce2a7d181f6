package outbox

import (
	"context"
	"database/sql"
	"slices"
)

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// queryRow reads the first row into dest; found is false when there is none.
func queryRow(ctx context.Context, q queryer, text string, args []any, dest ...any) (found bool, err error) {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	if err := rows.Scan(dest...); err != nil {
		return false, err
	}
	return true, rows.Close()
}

// querySeqs reads a column of seqs to its end, so that the connection is free for the next statement.
func querySeqs(ctx context.Context, q queryer, text string, args ...any) ([]int64, error) {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var seqs []int64
	for rows.Next() {
		var s int64
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		seqs = append(seqs, s)
	}
	return seqs, rows.Err()
}

// sorted is seqs in ascending order, the order in which all of this module locks rows.
func sorted(seqs []int64) []int64 {
	slices.Sort(seqs)
	return seqs
}
