package dialect_test

import (
	"database/sql"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
)

// A connection that is cut at Check's first question is a database that is away, whatever a new one answers to the next.
func TestCheckTellsALostConnectionFromAnotherServer(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		cut := hookdb.Open(db, hookdb.Hooks{Before: func(query string) error {
			if query == "SELECT version()" {
				return hookdb.ErrCut
			}
			return nil
		}})
		t.Cleanup(func() { cut.Close() })
		err := d.Check(t.Context(), cut)
		if got := d.Classify(err); err == nil || got != dialect.Disconnected {
			t.Errorf("%v: %v, want disconnected", err, got)
		}
	})
}
