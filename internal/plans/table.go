// Package plans is for tests of how the engines run a statement: by the index that it is written for, whatever they know
// of the table.
package plans

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

// Step is of what the number of rows must be a multiple.
const Step = 10_000

// Rows is how many rows the tests of plans have: a table on which every engine tells a look from a sort, or as many as
// OUTBOX_TEST_ROWS says (make plans: half a million).
func Rows(t testing.TB) int {
	t.Helper()
	text := os.Getenv("OUTBOX_TEST_ROWS")
	if text == "" {
		return 2 * Step
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 || n%Step != 0 {
		t.Fatalf("OUTBOX_TEST_ROWS is %q: want a multiple of %d", text, Step)
	}
	return n
}

// fillRows inserts rows %[1]d+1 and on, of %[2]d in all, at the time %[3]d. See Fill.
const fillRows = `
INSERT INTO {events} (seq, id, topic, event_key, partition_no, payload, state, created_ms, due_ms, settled_ms)
  WITH digits (d) AS (SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
            UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9),
       numbers (i) AS (SELECT %[1]d + 1 + a.d + 10 * b.d + 100 * c.d + 1000 * d.d FROM digits a, digits b, digits c, digits d)
SELECT i, CONCAT('event-', i), 'orders.created', CONCAT('customer-', i %% 1000), i %% 1000 %% 63, ?,
       CASE WHEN i <= %[2]d / 10 * 9 OR i %% 10 = 9 THEN 1 WHEN i %% 10 < 6 THEN 0 WHEN i %% 10 = 6 THEN 2 ELSE 3 END,
       %[3]d - (%[2]d - i),
       %[3]d - (%[2]d - i) + CASE WHEN i %% 2 = 1 OR i %% 10 > 6 THEN 86400000 ELSE 0 END,
       0
  FROM numbers`

// Table is a table of events whose statistics are what the test makes them.
type Table struct {
	testing.TB
	DB      *sql.DB
	Dialect dialect.Dialect
	SQL     *sqltext.Renderer
	engine  string
}

// On is for tables that the test fills itself.
func On(t testing.TB, e *engines.Engine, db *sql.DB, d dialect.Dialect) *Table {
	return &Table{t, db, d, sqltext.New(d, "", sqltext.DefaultPrefix), e.Name}
}

// Fill fills the tables as they are after a while: nearly all is published and kept, and of the latest tenth six in ten
// are pending, half of these due. Keys are in the partitions 0 to 62. The engine knows no statistics of the rows.
func Fill(t testing.TB, e *engines.Engine, db *sql.DB, d dialect.Dialect, rows int) *Table {
	t.Helper()
	f := On(t, e, db, d)
	if freeze := map[string]string{
		"postgres": "ALTER TABLE {events} SET (autovacuum_enabled = off)",
		"mysql":    "ALTER TABLE {events} STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0",
	}[d.Name()]; freeze != "" { // SQLite gathers none by itself
		f.Exec(freeze)
	}
	payload := bytes.Repeat([]byte("x"), 200)
	now := time.Now().UnixMilli()
	for done := 0; done < rows; done += Step {
		f.Exec(fmt.Sprintf(fillRows, done, rows, now), payload)
	}
	return f
}

// Analyse makes the statistics what they should be.
func (f *Table) Analyse() {
	f.Helper()
	f.Exec(map[string]string{
		"postgres": "ANALYZE {events}",
		"mysql":    "ANALYZE TABLE {events}",
		"sqlite":   "ANALYZE",
	}[f.Dialect.Name()])
}

// Each runs a sub-test for each thing that the statistics may say of the rows: nothing, what is true, and what was true
// while all were in one state.
func (f *Table) Each(t *testing.T, fn func(t *testing.T)) {
	t.Helper()
	t.Run("without statistics", fn)
	f.Analyse()
	t.Run("analysed", fn)
	for _, was := range []struct {
		name  string
		state int64
	}{{"pending", 0}, {"published", 1}, {"dead", 2}, {"paused", 6}} {
		f.AnalyseAs(was.state)
		t.Run("analysed while all was "+was.name, fn)
	}
}

// AnalyseAs makes the statistics what they are if all was in one state when they were last gathered: at night, when all is
// published, or amid a mountain. An engine gathers them again when a tenth of the table has changed.
func (f *Table) AnalyseAs(state int64) {
	f.Helper()
	f.Exec("UPDATE {events} SET settled_ms = state")
	f.Exec("UPDATE {events} SET state = ?", state)
	f.Analyse()
	f.Exec("UPDATE {events} SET state = settled_ms")
}

// DropIndexes takes away what plans are to go by.
func (f *Table) DropIndexes() {
	f.Helper()
	drop := "DROP INDEX %s"
	if f.Dialect.Name() == "mysql" {
		drop += " ON {events}"
	}
	for _, index := range []string{Pending, Due} {
		f.Exec(fmt.Sprintf(drop, f.SQL.Table(index)))
	}
}

// Exec runs a statement.
func (f *Table) Exec(statement string, args ...any) {
	f.Helper()
	if _, err := f.DB.ExecContext(f.Context(), f.SQL.SQL(statement), args...); err != nil {
		f.Fatal(err)
	}
}
