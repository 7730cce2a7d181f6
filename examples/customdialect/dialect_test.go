package customdialect_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/conformance"
	"github.com/sqloutbox/sqloutbox/examples/customdialect"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Harness{
		Dialect:  customdialect.New(),
		Patience: 2 * time.Minute, // for a machine that does much else
		NewDatabase: func(t testing.TB) func() (*sql.DB, error) {
			file := filepath.Join(t.TempDir(), "conformance.db")
			return func() (*sql.DB, error) { return customdialect.Open(file) }
		},
	})
}
