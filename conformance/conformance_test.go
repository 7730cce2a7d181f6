package conformance_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/conformance"
	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// As many as there are engines.
func TestMain(m *testing.M) { engines.Main(m, 4) }

// harness is for one of our own engines, with pools of at most limit connections; 0: as many as are wanted.
func harness(e *engines.Engine, limit int) conformance.Harness {
	_, d, err := all.Open(e.Name + "://127.0.0.1/any")
	if err != nil {
		panic(err) // the names of our own engines are schemes
	}
	return conformance.Harness{
		Dialect:  d,
		Patience: 2 * time.Minute, // for a machine that does much else; nothing waits that long where all is well
		NewDatabase: func(t testing.TB) func() (*sql.DB, error) {
			url := e.NewDatabase(t)
			return func() (*sql.DB, error) {
				db, _, err := all.Open(url)
				if err == nil {
					db.SetMaxOpenConns(limit)
				}
				return db, err
			}
		},
	}
}

func TestEveryEngineConforms(t *testing.T) {
	t.Parallel() // beside the other tests, so that there is always as much to do as may be done at once
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		conformance.Run(t, harness(e, 0))
	})
}

func TestEveryEngineConformsWithOneConnection(t *testing.T) {
	t.Parallel()
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		conformance.Run(t, harness(e, 1))
	})
}

func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range conformance.Cases() {
		if c.Area == "" || c.Name == "" || seen[c.Name] {
			t.Errorf("case %q of area %q", c.Name, c.Area)
		}
		seen[c.Name] = true
	}
}
