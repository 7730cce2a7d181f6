package plans

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// Explain is the engine's plan for a statement, a line a step. It is asked through q, since an engine may have its
// planner settings in the library's transactions.
func (f *Table) Explain(ctx context.Context, q rows.Queryer, text string, args []any) (string, error) {
	how := map[string]string{
		"postgres": "EXPLAIN ",
		"mysql":    "EXPLAIN FORMAT=TRADITIONAL ",
		"mariadb":  "EXPLAIN ",
		"sqlite":   "EXPLAIN QUERY PLAN ",
	}[f.engine]
	result, err := q.QueryContext(ctx, how+text, args...)
	if err != nil {
		return "", err
	}
	defer result.Close()
	names, err := result.Columns()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	values, dest := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		dest[i] = &values[i]
	}
	for result.Next() {
		if err := result.Scan(dest...); err != nil {
			return "", err
		}
		for i, name := range names {
			fmt.Fprintf(&b, "%s=%s; ", strings.ToLower(name), values[i].String)
		}
		b.WriteByte('\n')
	}
	return b.String(), result.Err()
}
