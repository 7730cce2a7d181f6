package dialect_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

func inTransaction(t *testing.T, d dialect.Dialect, e dialect.Execer) bool {
	t.Helper()
	in, err := d.InTransaction(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback() })
	return tx
}

func TestInTransactionChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		exec(t, db, "CREATE TABLE host (id BIGINT PRIMARY KEY)")
		for round, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
			tx := begin(t, db)
			if !inTransaction(t, d, tx) {
				t.Error("a new transaction counts as ended")
			}
			exec(t, tx, d.Bind("INSERT INTO host VALUES (?)"), int64(round))
			if !inTransaction(t, d, tx) {
				t.Error("a transaction counts as ended after its first write")
			}
			exec(t, tx, d.Bind("INSERT INTO host VALUES (?)"), int64(round+10))
			if err := end(tx); err != nil {
				t.Fatal(err)
			}
		}
		if got := column[int64](t, db, "SELECT id FROM host ORDER BY id"); len(got) != 2 || got[0] != 1 || got[1] != 11 {
			t.Errorf("the table holds %v, want [1 11]", got)
		}
	})
}

func TestInTransactionIsFalseOutsideOfOne(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.Name() == "postgres" {
			t.Skip("PostgreSQL need not be asked")
		}
		exec(t, db, "CREATE TABLE host (id BIGINT PRIMARY KEY)")
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for range 3 {
			if inTransaction(t, d, conn) {
				t.Error("a bare connection counts as a transaction")
			}
		}
		// The probe left neither a transaction nor a setting behind.
		exec(t, conn, "INSERT INTO host VALUES (1)")
		if got := column[int64](t, db, "SELECT id FROM host"); len(got) != 1 {
			t.Errorf("the table holds %v, want [1]", got)
		}
	})
}

func TestInTransactionOfAnEndedTxIsAnError(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.Name() == "postgres" {
			t.Skip("PostgreSQL need not be asked: the next statement fails")
		}
		tx := begin(t, db)
		tx.Rollback()
		if _, err := d.InTransaction(t.Context(), tx); !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("got %v, want sql.ErrTxDone", err)
		}
	})
}

// A ghost: the deadlock's victim is rolled back by the server, the host swallows the error, and what it executes next
// on the same *sql.Tx runs by itself.
func TestADeadlockThatTheHostSwallowsIsSeen(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.Name() == "sqlite" {
			t.Skip("one writer: no deadlocks")
		}
		victim := deadlock(t, db, d)
		in := inTransaction(t, d, victim)
		if d.Name() == "postgres" {
			if !in {
				t.Error("PostgreSQL needs no probe and must answer true")
			}
			if _, err := victim.ExecContext(t.Context(), "INSERT INTO host VALUES (99, 0)"); err == nil {
				t.Error("the aborted transaction took a statement")
			}
			return
		}
		if in {
			t.Error("the transaction has ended and counts as open")
		}
		exec(t, victim, "INSERT INTO host VALUES (99, 0)")
		victim.Rollback()
		if n := one[int](t, db, "SELECT COUNT(*) FROM host WHERE id = 99"); n != 1 {
			t.Error("there is no ghost here: the test proves nothing")
		}
	})
}

// deadlock makes one and returns its victim, which doesn't know yet that its transaction is over.
func deadlock(t *testing.T, db *sql.DB, d dialect.Dialect) (victim *sql.Tx) {
	t.Helper()
	exec(t, db, "CREATE TABLE host (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)")
	exec(t, db, "INSERT INTO host VALUES (1, 0), (2, 0)")
	txs := [2]*sql.Tx{begin(t, db), begin(t, db)}
	exec(t, txs[0], "UPDATE host SET n = 1 WHERE id = 1")
	exec(t, txs[1], "UPDATE host SET n = 1 WHERE id = 2")
	type outcome struct {
		which int
		err   error
	}
	outcomes := make(chan outcome, 2)
	for i, id := range []int64{2, 1} {
		go func() {
			_, err := txs[i].ExecContext(context.Background(), d.Bind("UPDATE host SET n = 2 WHERE id = ?"), id)
			outcomes <- outcome{i, err}
		}()
	}
	for range 2 {
		select {
		case o := <-outcomes:
			if o.err == nil {
				continue
			}
			if class := d.Classify(o.err); class != dialect.Conflict {
				t.Errorf("a deadlock is %v, want conflict: %v", class, o.err)
			}
			victim = txs[o.which]
			if d.Name() == "postgres" {
				return victim // the other goes on when the victim is rolled back
			}
		case <-time.After(20 * time.Second):
			t.Fatal("no deadlock")
		}
	}
	if victim == nil {
		t.Fatal("no deadlock")
	}
	return victim
}

// The same ghost on SQLite: an interrupted write ends the transaction.
func TestAnInterruptedStatementThatTheHostSwallowsIsSeen(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.Name() != "sqlite" {
			t.Skip("a cancelled context closes the connection there")
		}
		exec(t, db, "CREATE TABLE host (id INTEGER PRIMARY KEY)")
		tx := begin(t, db)
		exec(t, tx, "INSERT INTO host VALUES (1)")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		const long = `
INSERT INTO host
  WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000)
SELECT i FROM n`
		if _, err := tx.ExecContext(ctx, long); err == nil {
			t.Fatal("the statement was not interrupted")
		}
		if inTransaction(t, d, tx) {
			t.Error("the transaction has ended and counts as open")
		}
		exec(t, tx, "INSERT INTO host VALUES (99)")
		tx.Rollback()
		if got := column[int64](t, db, "SELECT id FROM host"); len(got) != 1 || got[0] != 99 {
			t.Errorf("the table holds %v: there is no ghost here, and the test proves nothing", got)
		}
	})
}

func TestAnInterruptIsNotGivenToTheProbe(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		if d.Name() != "sqlite" {
			t.Skip("only SQLite's probe might be interrupted")
		}
		tx := begin(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := d.InTransaction(ctx, tx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		if !inTransaction(t, d, tx) {
			t.Error("a cancelled probe has ended the transaction")
		}
	})
}
