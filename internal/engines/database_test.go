package engines

import (
	"database/sql"
	"strings"
	"testing"
	"time"
)

func TestEachTestHasAnEmptyDatabaseOfItsOwn(t *testing.T) {
	Each(t, func(t *testing.T, e *Engine) {
		a, b := openForTest(t, e.NewDatabase(t)), openForTest(t, e.NewDatabase(t))
		for _, db := range []*sql.DB{a, b} {
			// The same name twice, so it fails if the two databases are one.
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (id INTEGER)"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.ExecContext(t.Context(), "INSERT INTO t VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := b.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t").Scan(&n); err != nil || n != 0 {
			t.Errorf("got %d rows, %v, want none of the other database", n, err)
		}
	})
}

func TestADatabaseIsDroppedAlthoughATransactionIsOpen(t *testing.T) {
	Each(t, func(t *testing.T, e *Engine) {
		url, drop, err := e.Create(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		db := openForTest(t, url)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (id INTEGER)"); err != nil {
			t.Fatal(err)
		}
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO t VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		drop()
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("took %v", took)
		}
		if e.Name == "sqlite" {
			return
		}
		if _, err := probe(t.Context(), url); err == nil {
			t.Error("the database is still there")
		}
	})
}

func TestTheServerIsAsDurableAsInProduction(t *testing.T) {
	Each(t, func(t *testing.T, e *Engine) {
		want := map[string]string{
			"SELECT @@innodb_flush_log_at_trx_commit": "1",
			"SELECT @@max_connections":                "300",
			"SELECT @@character_set_server":           "utf8mb4",
		}
		switch e.Name {
		case "sqlite":
			return // a file, opened by the dialect
		case "mysql":
			want["SELECT @@sync_binlog"] = "1"
		case "postgres":
			want = map[string]string{
				"SHOW fsync": "on", "SHOW synchronous_commit": "on", "SHOW full_page_writes": "on",
				"SHOW max_connections": "300", "SHOW server_encoding": "UTF8",
			}
		}
		db := openForTest(t, e.AdminURL())
		for query, value := range want {
			var got string
			if err := db.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != value {
				t.Errorf("%s: got %q, %v, want %q", query, got, err, value)
			}
		}
	})
}

func openForTest(t *testing.T, url string) *sql.DB {
	t.Helper()
	var db *sql.DB
	var err error
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		db, err = sql.Open("sqlite", path)
	} else {
		db, err = openURL(url)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
