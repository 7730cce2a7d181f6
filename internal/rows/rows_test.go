package rows_test

import (
	"database/sql"
	"slices"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// One connection: a result that was not read to its end or closed would block whatever comes next.
func TestResultsLeaveTheConnectionFree(t *testing.T) {
	db, err := sqlite.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	const three = "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3"
	for range 2 {
		var n int
		if err := rows.One(t.Context(), db, three, nil, &n); err != nil || n != 1 {
			t.Errorf("the first of three: %d, %v", n, err)
		}
		if err := rows.One(t.Context(), db, "SELECT 1 WHERE 1 = ?", []any{2}, &n); err != sql.ErrNoRows {
			t.Errorf("none: got %v, want sql.ErrNoRows", err)
		}
		if err := rows.One(t.Context(), db, "SELECT 'x'", nil, &n); err == nil || err == sql.ErrNoRows {
			t.Errorf("a text as a number: got %v", err)
		}
		if got, err := rows.Int64s(t.Context(), db, three); err != nil || !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("a column: %v, %v", got, err)
		}
		if _, err := rows.Column[int](t.Context(), db, "SELECT 1 UNION ALL SELECT 'x'"); err == nil {
			t.Error("a column with a text among numbers was read")
		}
	}
}
