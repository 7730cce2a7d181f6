package outbox

import (
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/plans"
)

// filled is an outbox on a table with so many rows.
func filled(t testing.TB, e *engines.Engine, rows int) (*Outbox, *plans.Table) {
	t.Helper()
	db, d := e.Migrated(t)
	o, err := New(db, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o, plans.Fill(t, e, db, d, rows)
}
