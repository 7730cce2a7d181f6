package dialect_test

import (
	"database/sql"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// guarded calls fn on an engine whose dialect and server have a guard.
func guarded(t *testing.T, fn func(t *testing.T, db *sql.DB, g dialect.TxGuard)) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d := open(t, e.NewDatabase(t))
		g, ok := d.(dialect.TxGuard)
		if want := d.Name() == "mysql"; ok != want {
			t.Fatalf("it has a guard: %v, want %v", ok, want)
		}
		if !ok {
			return
		}
		tx := begin(t, db)
		has, err := g.HasGuard(t.Context(), tx)
		if want := e.Name == "mariadb"; has != want || err != nil {
			t.Fatalf("the server has it: %v, %v, want %v", has, err, want)
		}
		if open, err := d.InTransaction(t.Context(), tx); !open || err != nil {
			t.Errorf("the question has ended the transaction: %v, %v", open, err)
		}
		tx.Rollback()
		if has {
			fn(t, db, g)
		}
	})
}

func TestGuardIsTheValueInATransactionAndRefusesOutsideOfOne(t *testing.T) {
	guarded(t, func(t *testing.T, db *sql.DB, g dialect.TxGuard) {
		exec(t, db, "CREATE TABLE host (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)")
		insert := "INSERT INTO host VALUES (?, " + g.Guard("?") + "), (?, ?)"
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		id, want := int64(0), 0
		for _, mode := range []string{"", "STRICT_ALL_TABLES", "TRADITIONAL", "ANSI", "ORACLE"} {
			exec(t, conn, "SET SESSION sql_mode = '"+mode+"'")
			for _, begin := range []string{"START TRANSACTION", "XA START 'x'"} {
				_, err := conn.ExecContext(t.Context(), insert, id, -5, id+1, 7)
				if !g.OutsideTx(err) {
					t.Errorf("mode %q: outside of a transaction it says %v", mode, err)
				}
				exec(t, conn, begin)
				exec(t, conn, insert, id, -5, id+1, 7)
				if begin == "XA START 'x'" {
					exec(t, conn, "XA END 'x'")
					exec(t, conn, "XA COMMIT 'x' ONE PHASE")
				} else {
					exec(t, conn, "COMMIT")
				}
				id, want = id+2, want+2
			}
		}
		if n := one[int](t, db, "SELECT COUNT(*) FROM host WHERE n IN (-5, 7)"); n != want {
			t.Errorf("%d rows, want %d", n, want)
		}
	})
}

// Host libraries prepare a statement once and run it in every transaction.
func TestGuardLooksAnewEachTimeAStatementIsRun(t *testing.T) {
	guarded(t, func(t *testing.T, db *sql.DB, g dialect.TxGuard) {
		exec(t, db, "CREATE TABLE host (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)")
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		insert, err := conn.PrepareContext(t.Context(), "INSERT INTO host VALUES (?, "+g.Guard("?")+")")
		if err != nil {
			t.Fatal(err)
		}
		defer insert.Close()
		for id := range 3 {
			if _, err := insert.ExecContext(t.Context(), id, 1); !g.OutsideTx(err) {
				t.Errorf("outside of a transaction it says %v", err)
			}
			exec(t, conn, "START TRANSACTION")
			if _, err := insert.ExecContext(t.Context(), id, 1); err != nil {
				t.Errorf("inside of one it says %v", err)
			}
			exec(t, conn, "COMMIT")
		}
		if n := one[int](t, db, "SELECT COUNT(*) FROM host"); n != 3 {
			t.Errorf("%d rows, want 3", n)
		}
	})
}

// There an INSERT opens a transaction by itself, also after a deadlock.
func TestNoGuardWhereSessionsDoNotCommitByThemselves(t *testing.T) {
	guarded(t, func(t *testing.T, db *sql.DB, g dialect.TxGuard) {
		exec(t, db, "CREATE TABLE host (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)")
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		exec(t, conn, "SET autocommit = 0")
		exec(t, conn, "START TRANSACTION")
		if has, err := g.HasGuard(t.Context(), conn); has || err != nil {
			t.Errorf("it has one: %v, %v", has, err)
		}
		exec(t, conn, "ROLLBACK")
		if _, err := conn.ExecContext(t.Context(), "INSERT INTO host VALUES (1, "+g.Guard("?")+")", 1); !g.OutsideTx(err) {
			t.Errorf("it says %v", err)
		}
		exec(t, conn, "COMMIT")
		if n := one[int](t, db, "SELECT COUNT(*) FROM host"); n != 0 {
			t.Error("a ghost")
		}
		exec(t, conn, "SET autocommit = 1")
	})
}

func TestGuardRefusesAfterADeadlockThatTheHostSwallows(t *testing.T) {
	guarded(t, func(t *testing.T, db *sql.DB, g dialect.TxGuard) {
		victim := deadlock(t, db, g.(dialect.Dialect))
		if _, err := victim.ExecContext(t.Context(), "INSERT INTO host VALUES (99, "+g.Guard("?")+")", 1); !g.OutsideTx(err) {
			t.Errorf("it says %v", err)
		}
		victim.Rollback()
		if n := one[int](t, db, "SELECT COUNT(*) FROM host WHERE id = 99"); n != 0 {
			t.Error("a ghost")
		}
	})
}
