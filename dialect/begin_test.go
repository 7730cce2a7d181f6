package dialect_test

import (
	"database/sql"
	"net/url"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// Under anything stricter than READ COMMITTED the second read would not see what was committed between the two.
func TestBeginIsReadCommittedWhateverTheDefault(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		address := e.NewDatabase(t)
		writer, _ := open(t, address)
		exec(t, writer, "CREATE TABLE seen (id BIGINT PRIMARY KEY)")
		db, d := open(t, strictest(t, e.Name, address))
		if d.Name() == "sqlite" {
			t.Skip("one writer: see TestBeginTakesTheWriteLock")
		}
		tx, err := d.Begin(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		if n := one[int](t, tx, "SELECT COUNT(*) FROM seen"); n != 0 {
			t.Fatalf("%d rows", n)
		}
		exec(t, writer, "INSERT INTO seen VALUES (1)")
		if n := one[int](t, tx, "SELECT COUNT(*) FROM seen"); n != 1 {
			t.Errorf("a row committed meanwhile is not seen")
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	})
}

// strictest is the address with SERIALIZABLE as the sessions' default, checked.
func strictest(t *testing.T, engine, address string) string {
	t.Helper()
	var parameter, value, ask string
	switch engine {
	case "postgres":
		parameter, value, ask = "default_transaction_isolation", "serializable", "SHOW transaction_isolation"
	case "mysql":
		parameter, value, ask = "transaction_isolation", "'SERIALIZABLE'", "SELECT @@session.transaction_isolation"
	case "mariadb":
		parameter, value, ask = "tx_isolation", "'SERIALIZABLE'", "SELECT @@session.tx_isolation"
	default:
		return address
	}
	address = withParameter(t, address, parameter, value)
	db, _ := open(t, address)
	if got := one[string](t, db, ask); got != "SERIALIZABLE" && got != "serializable" {
		t.Fatalf("the sessions' default is %s", got)
	}
	return address
}

func withParameter(t *testing.T, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	return u.String()
}

func TestBeginFreesItsConnectionInEveryCase(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		db.SetMaxOpenConns(1)
		exec(t, db, "CREATE TABLE kept (id BIGINT PRIMARY KEY)")
		endings := map[string]func(dialect.Tx) error{
			"commit":   dialect.Tx.Commit,
			"rollback": dialect.Tx.Rollback,
			"commit after a failed statement": func(tx dialect.Tx) error {
				if _, err := tx.ExecContext(t.Context(), "SELECT nonsense FROM nowhere"); err == nil {
					t.Error("nonsense was executed")
				}
				_ = tx.Commit() // PostgreSQL calls it a rollback
				return nil
			},
		}
		for name, end := range endings {
			tx, err := d.Begin(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			if err := end(tx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if in := db.Stats().InUse; in != 0 {
				t.Fatalf("%s: %d connections are still in use", name, in)
			}
			if err := tx.Rollback(); err == nil {
				t.Errorf("%s: a second end is not refused", name)
			}
		}
		exec(t, db, "INSERT INTO kept VALUES (1)")
	})
}

func TestRollbackLeavesNothingAndCommitLeavesAll(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		exec(t, db, "CREATE TABLE kept (id BIGINT PRIMARY KEY)")
		for id, end := range []func(dialect.Tx) error{dialect.Tx.Rollback, dialect.Tx.Commit} {
			tx, err := d.Begin(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			exec(t, tx, d.Bind("INSERT INTO kept VALUES (?)"), int64(id))
			if err := end(tx); err != nil {
				t.Fatal(err)
			}
		}
		if got := column[int64](t, db, "SELECT id FROM kept"); len(got) != 1 || got[0] != 1 {
			t.Errorf("kept %v, want [1]", got)
		}
	})
}

// After a failover, the pool's connections lead to a server that was the primary, and after a change of the default a session
// keeps the one that it began with. The pool gives the last one used out first.
func TestAConnectionThatIsReadOnlyIsNotUsedAgain(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		set := map[string]string{"postgres": "SET default_transaction_read_only = on", "mysql": "SET SESSION TRANSACTION READ ONLY"}[d.Name()]
		if set == "" {
			return
		}
		exec(t, db, "CREATE TABLE host (id BIGINT PRIMARY KEY)")
		db.SetMaxOpenConns(1)
		exec(t, db, set)
		for id, class := range []dialect.Class{dialect.ReadOnly, dialect.Other} {
			tx, err := d.Begin(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tx.ExecContext(t.Context(), d.Bind("INSERT INTO host VALUES (?)"), id)
			if d.Classify(err) != class || (err == nil) != (class == dialect.Other) {
				t.Errorf("try %d: %v", id+1, err)
			}
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
			if err := tx.Rollback(); err == nil {
				t.Error("a second end is not refused")
			}
		}
	})
}
