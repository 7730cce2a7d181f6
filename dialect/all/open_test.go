package all_test

import (
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/internal/engines"
)

func TestOpenConnectsToEachEngineByURL(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d, err := all.Open(e.NewDatabase(t))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := d.Check(t.Context(), db); err != nil {
			t.Error(err)
		}
		want := map[string]string{"mariadb": "mysql"}[e.Name]
		if want == "" {
			want = e.Name
		}
		if d.Name() != want {
			t.Errorf("dialect %q, want %q", d.Name(), want)
		}
	})
}

func TestOpenRefusesOtherURLsAndNamesTheSchemes(t *testing.T) {
	for _, url := range []string{"", "host=localhost dbname=x", "oracle://host/db", "/var/lib/app.db", "sqlite3:/a.db"} {
		db, d, err := all.Open(url)
		if err == nil {
			t.Fatalf("Open(%q) gave no error", url)
		}
		if db != nil || d != nil {
			t.Errorf("Open(%q) gave an error and a pool or a dialect", url)
		}
		for _, scheme := range []string{"postgres://", "mysql://", "mariadb://", "sqlite:"} {
			if !strings.Contains(err.Error(), scheme) {
				t.Errorf("Open(%q): %v: doesn't name %s", url, err, scheme)
			}
		}
	}
}

func TestOpenRefusesABadURLWithoutShowingThePassword(t *testing.T) {
	for _, url := range []string{
		"mysql://user:secret@host:port/db",
		"mysql://user:secret@[::1/db",
		"mysql:user:secret@tcp(host)/db", // the driver's DSN
		"mysql://user:secret@host/db?socket=/run/mysqld.sock",
		"mysql://us%3Aer:secret@host/db",
		"postgres://user:secret@host:port/db",
		"sqlite:",
	} {
		_, _, err := all.Open(url)
		if err == nil {
			t.Errorf("Open(%q) gave no error", url)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q): %v: shows the password", url, err)
		}
	}
}
