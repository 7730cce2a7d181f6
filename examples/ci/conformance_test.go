// Package ci_test is for copying: put this file into a new, empty directory of your repository and conformance.yml under
// its .github/workflows, and the suite runs against the databases that you use, with the driver versions of your go.mod.
package ci_test

import (
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/conformance"
	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/all"
)

// TestConformance runs on the server that CONFORMANCE_URL names, as a user who may create databases, and on SQLite
// without it.
func TestConformance(t *testing.T) {
	conformance.Run(t, harness(t, os.Getenv("CONFORMANCE_URL")))
}

func harness(t testing.TB, server string) conformance.Harness {
	t.Helper()
	return conformance.Harness{
		Dialect: dialectOf(t, server),
		NewDatabase: func(t testing.TB) func() (*sql.DB, error) {
			database := newDatabase(t, server)
			return func() (*sql.DB, error) {
				db, _, err := all.Open(database)
				return db, err
			}
		},
	}
}

func dialectOf(t testing.TB, server string) dialect.Dialect {
	t.Helper()
	if server == "" {
		server = "sqlite::memory:"
	}
	db, d, err := all.Open(server)
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Close() // it was never used
	return d
}

// newDatabase makes an empty database that is dropped when the test has ended, and answers its URL.
func newDatabase(t testing.TB, server string) string {
	t.Helper()
	if server == "" {
		return "sqlite:" + filepath.Join(t.TempDir(), "conformance.db")
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	name := "outbox_conformance_" + strings.ToLower(rand.Text())
	admin, _, err := all.Open(server)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := admin.Exec("DROP DATABASE " + name); err != nil {
			t.Log(err)
		}
		_ = admin.Close()
	})
	u.Path = "/" + name
	return u.String()
}
