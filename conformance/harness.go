package conformance

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Harness is what the suite has to know about the dialect that is put through it.
type Harness struct {
	// Dialect is what is tested. Required.
	Dialect dialect.Dialect

	// NewDatabase makes a new, empty database and answers how to open a pool on it. Every pool is on the same database,
	// as separate processes would have it; the suite opens several at a time and closes each. It may limit the pool's
	// connections, down to one. What it registers with t.Cleanup runs when all pools are closed. Required.
	NewDatabase func(t testing.TB) (open func() (*sql.DB, error))

	// Patience bounds every wait for something that must happen; default 30 s. It is for a machine under load: nothing
	// takes this long where all is well.
	Patience time.Duration

	// Migrate makes the tables, with the default prefix; default: migrations.Up. Set it where the tables come from
	// elsewhere, as from the statements of migrations.SQL.
	Migrate func(ctx context.Context, db *sql.DB) error
}

// Run puts a dialect through every case, one subtest an area and one below it for each case. The cases of a run share
// one database, one after the other.
func Run(t *testing.T, h Harness) {
	t.Helper()
	s := newSpace(t, h)
	cases := Cases()
	for len(cases) > 0 {
		n := 1
		for n < len(cases) && cases[n].Area == cases[0].Area {
			n++
		}
		group := cases[:n]
		cases = cases[n:]
		t.Run(group[0].Area, func(t *testing.T) {
			for _, c := range group {
				t.Run(c.Name, func(t *testing.T) { s.run(t, c) })
			}
		})
	}
}
