package dialect_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// An index that doesn't match filter and order makes InnoDB sort, and so lock every candidate: the second claimer would
// get nothing.
func TestASecondClaimerGetsItsOwnRows(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.LockSkip() == "" {
			t.Skip("one writer: there is no second claimer")
		}
		exec(t, db, "CREATE TABLE events (seq BIGINT PRIMARY KEY, state BIGINT NOT NULL, due_ms BIGINT NOT NULL)")
		exec(t, db, "CREATE INDEX events_due ON events (state, due_ms, seq)")
		var values []string
		for seq := 1; seq <= 2_000; seq++ {
			state := 1 // published
			if seq > 1_900 {
				state = 0
			}
			values = append(values, fmt.Sprintf("(%d, %d, %d)", seq, state, 1_000-seq%7))
		}
		exec(t, db, "INSERT INTO events VALUES "+strings.Join(values, ", "))

		for _, statistics := range []string{"", "ANALYZE"} {
			if statistics != "" {
				if d.Name() == "mysql" {
					statistics += " TABLE"
				}
				exec(t, db, statistics+" events")
			}
			first, second := claim(t, db, d), claim(t, db, d)
			if len(first.rows) != 5 || len(second.rows) != 5 {
				t.Errorf("after %q: claimers got %d and %d rows, want 5 each", statistics, len(first.rows), len(second.rows))
			}
			for _, seq := range first.rows {
				if slices.Contains(second.rows, seq) {
					t.Errorf("both claimers got row %d", seq)
				}
			}
			first.tx.Rollback()
			second.tx.Rollback()
		}
	})
}

type claimer struct {
	tx   dialect.Tx
	rows []int64
}

func claim(t *testing.T, db *sql.DB, d dialect.Dialect) claimer {
	t.Helper()
	tx, err := d.Begin(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback() })
	return claimer{tx, column[int64](t, tx, d.Bind(
		"SELECT seq FROM events"+d.IndexHint("events_due")+
			" WHERE state = 0 AND due_ms <= ? ORDER BY due_ms, seq LIMIT 5"+d.LockSkip()), int64(2_000))}
}
