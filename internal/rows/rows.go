// Package rows reads small results to their end, so that the connection is free for the next statement, and counts what a
// statement has changed.
package rows

import (
	"context"
	"database/sql"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Queryer is what a *sql.DB, a *sql.Conn and a transaction have in common.
type Queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Exec runs one statement and answers how many rows it changed.
func Exec(ctx context.Context, tx dialect.Execer, text string, args ...any) (int64, error) {
	res, err := tx.ExecContext(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// One reads the first row into dest; sql.ErrNoRows, as it is, if there is none.
func One(ctx context.Context, q Queryer, text string, args []any, dest ...any) error {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	return rows.Close()
}

// Args are values as a statement's arguments.
func Args[T any](values []T) []any {
	args := make([]any, len(values))
	for i, value := range values {
		args[i] = value
	}
	return args
}

// Column reads the one column that text asks for.
func Column[T any](ctx context.Context, q Queryer, text string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var column []T
	for rows.Next() {
		var value T
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		column = append(column, value)
	}
	return column, rows.Err()
}

// Int64s is Column for numbers, such as seqs.
func Int64s(ctx context.Context, q Queryer, text string, args ...any) ([]int64, error) {
	return Column[int64](ctx, q, text, args...)
}

// Each calls scan for each row.
func Each(ctx context.Context, q Queryer, text string, args []any, scan func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
