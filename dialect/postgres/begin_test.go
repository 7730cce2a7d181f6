package postgres_test

import (
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/postgres"
	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// PostgreSQL answers COMMIT with a rollback, and no error, once a statement has failed.
func TestACommitAfterAFailureIsAnError(t *testing.T) {
	failures := map[string]func(t *testing.T, tx dialect.Tx){
		"a statement": func(t *testing.T, tx dialect.Tx) {
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO host VALUES (1)"); err == nil {
				t.Error("a row was taken twice")
			}
		},
		"a query": func(t *testing.T, tx dialect.Tx) {
			rows, err := tx.QueryContext(t.Context(), "SELECT nonsense FROM nowhere")
			if err == nil {
				rows.Close()
				t.Error("nonsense was read")
			}
		},
		"a query among its rows": func(t *testing.T, tx dialect.Tx) {
			rows, err := tx.QueryContext(t.Context(), "SELECT 1 / (3 - n) FROM generate_series(1, 5) n")
			if err != nil {
				return
			}
			for rows.Next() {
				continue
			}
			rows.Close() // the error is overlooked
		},
	}
	db, err := postgres.Open(engines.One(t, "postgres").NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE host (id BIGINT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	for name, fail := range failures {
		tx, err := postgres.New().Begin(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO host VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		fail(t, tx)
		if err := tx.Commit(); err == nil {
			t.Errorf("%s: the commit is no error", name)
		}
		if in := db.Stats().InUse; in != 0 {
			t.Errorf("%s: %d connections are in use", name, in)
		}
	}
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM host").Scan(&n); err != nil || n != 0 {
		t.Errorf("%d rows, %v", n, err)
	}
}
