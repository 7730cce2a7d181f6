package ci_test

import (
	"context"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/conformance"
	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/migrations"
)

// This file is not for copying: it holds the two that are to each other, without a CI server.

// TestMain leaves TestConformance out of a plain run of this module's tests: conformance runs the whole suite on the
// four engines, and examples/customdialect once more on SQLite. Asked for by name, or with a server, it runs.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("CONFORMANCE_URL") == "" && flag.Lookup("test.run").Value.String() == "" {
		if err := flag.Set("test.skip", "^TestConformance$"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// One area of the suite, through the wiring that is copied.
func TestTheWiringServesTheSuiteOnEachEngine(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		ran := 0
		for _, c := range conformance.Cases() {
			if c.Area == "atomicity" {
				ran++
				t.Run(c.Name, func(t *testing.T) { c.Run(t, harness(t, e.AdminURL())) })
			}
		}
		if ran == 0 {
			t.Error("the suite has no such area any more: name another one")
		}
	})
}

func TestEachEngineGivesDatabasesThatAreEmptyAndDropped(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		server := e.AdminURL()
		var made string
		t.Run("make", func(t *testing.T) {
			made = newDatabase(t, server)
			db, d, err := all.Open(made)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if d.Name() != dialectOf(t, server).Name() {
				t.Errorf("dialect %s, want the server's", d.Name())
			}
			if err := migrations.Up(t.Context(), db, d, nil); err != nil {
				t.Error(err)
			}
		})
		if e.Name == "sqlite" {
			return // its file was in the test's temporary directory
		}
		db, _, err := all.Open(made)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.PingContext(context.Background()); err == nil {
			t.Error("the database is still there")
		}
	})
}

func TestTheWorkflowRunsTheTestOnEachEngine(t *testing.T) {
	text, err := os.ReadFile("conformance.yml")
	if err != nil {
		t.Fatal(err)
	}
	workflow := string(text)
	if strings.Contains(workflow, "\t") {
		t.Error("YAML knows no tabs")
	}
	if got := strings.Count(workflow, "-run '^TestConformance$'"); got != 2 {
		t.Errorf("TestConformance is run by %d steps, want 2: SQLite and the servers", got)
	}
	if !strings.Contains(workflow, "CONFORMANCE_URL: ${{ matrix.url }}") {
		t.Error("the test is not told the server's URL")
	}
	var schemes []string
	for _, m := range regexp.MustCompile(`(?m)^ +url: ((\w+)://.*)$`).FindAllStringSubmatch(workflow, -1) {
		db, _, err := all.Open(m[1])
		if err != nil {
			t.Errorf("%s: %v", m[1], err)
			continue
		}
		_ = db.Close()
		schemes = append(schemes, m[2])
	}
	if want := []string{"postgres", "mysql", "mariadb"}; !slices.Equal(schemes, want) {
		t.Errorf("servers of %v, want %v", schemes, want)
	}
}
