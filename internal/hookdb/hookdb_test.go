package hookdb_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
)

func base(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec("CREATE TABLE x (n BIGINT NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return db
}

func count(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	if err := db.QueryRow("SELECT COUNT(*) FROM x").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEveryStatementIsSeenOnce(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	db := hookdb.Open(base(t), hookdb.Hooks{Before: func(q string) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, q)
		return nil
	}})
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT INTO x VALUES (?)", 1); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT INTO x VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	count(t, db)
	want := []string{hookdb.Connect, hookdb.Begin, "INSERT INTO x VALUES (?)", "INSERT INTO x VALUES (2)", hookdb.Commit, "SELECT COUNT(*) FROM x"}
	if !slices.Equal(seen, want) {
		t.Errorf("got  %q\nwant %q", seen, want)
	}
}

func TestACutBeforeRunsNothingAndRollsBack(t *testing.T) {
	below := base(t)
	cut := false
	db := hookdb.Open(below, hookdb.Hooks{Before: func(q string) error {
		if strings.Contains(q, "(3)") && !cut {
			cut = true
			return hookdb.ErrCut
		}
		return nil
	}})
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT INTO x VALUES (?)", 1); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT INTO x VALUES (3)"); !errors.Is(err, hookdb.ErrCut) {
		t.Errorf("got %v, want ErrCut", err)
	}
	if err := tx.Commit(); err == nil {
		t.Error("a transaction on a cut connection was committed")
	}
	if n := count(t, below); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if _, err := db.Exec("INSERT INTO x VALUES (3)"); err != nil {
		t.Errorf("a new connection: %v", err)
	}
}

func TestACutAfterHasRun(t *testing.T) {
	below := base(t)
	db := hookdb.Open(below, hookdb.Hooks{After: func(q string) error {
		if q == hookdb.Commit || strings.HasPrefix(q, "SELECT 1") {
			return hookdb.ErrCut
		}
		return nil
	}})
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT INTO x VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); !errors.Is(err, hookdb.ErrCut) {
		t.Errorf("got %v, want ErrCut", err)
	}
	if n := count(t, below); n != 1 {
		t.Errorf("%d rows, want the one whose commit was not heard of", n)
	}
	if _, err := db.QueryContext(context.Background(), "SELECT 1 WHERE 1 = ?", 1); !errors.Is(err, hookdb.ErrCut) {
		t.Errorf("got %v, want ErrCut", err)
	}
	if _, err := below.Exec("DELETE FROM x"); err != nil {
		t.Errorf("a lock was left behind: %v", err)
	}
}

func TestStatementsAreRewritten(t *testing.T) {
	below := base(t)
	db := hookdb.Open(below, hookdb.Hooks{Rewrite: func(q string) string { return strings.ReplaceAll(q, "y", "x") }})
	defer db.Close()
	for _, args := range [][]any{{1}, nil} {
		q := "INSERT INTO y VALUES (7)"
		if args != nil {
			q = "INSERT INTO y VALUES (?)"
		}
		if _, err := db.Exec(q, args...); err != nil {
			t.Error(err)
		}
	}
	if n := count(t, below); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}
