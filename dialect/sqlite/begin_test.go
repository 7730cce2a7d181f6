package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
)

// bare is a pool with none of Open's settings.
func bare(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func begin(t *testing.T, db *sql.DB) dialect.Tx {
	t.Helper()
	tx, err := sqlite.New().Begin(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback() })
	return tx
}

func TestBeginTakesTheWriteLockWhateverTheDSN(t *testing.T) {
	name := file(t)
	db := bare(t, name+"?_txlock=deferred")
	begin(t, db)
	_, err := sqlite.New().Begin(t.Context(), db)
	if got := sqlite.New().Classify(err); got != dialect.Conflict {
		t.Errorf("a second writer: %v: %v, want a conflict", err, got)
	}
}

func TestWaitingInBeginEndsWithTheContext(t *testing.T) {
	db := open(t, file(t))
	db.SetMaxOpenConns(2)
	held := begin(t, db)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	started := time.Now()
	if _, err := sqlite.New().Begin(ctx, db); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
	if waited := time.Since(started); waited > 30*time.Second {
		t.Errorf("it waited %v", waited)
	}
	held.Rollback()
	if in := db.Stats().InUse; in != 0 {
		t.Errorf("%d connections are still in use", in)
	}
	begin(t, db) // and no connection was left in a transaction
}

// Cancelling Begin at random points must leave no connection behind that is still in a transaction.
func TestCancelledBeginsLeaveTheLockFree(t *testing.T) {
	db := open(t, file(t))
	exec(t, db, "CREATE TABLE host (id INTEGER PRIMARY KEY)")
	for i := range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Microsecond)
		if tx, err := sqlite.New().Begin(ctx, db); err == nil {
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
		}
		cancel()
	}
	other := bare(t, mainFile(t, db)) // no busy time-out: the lock must be free right now
	exec(t, other, "INSERT INTO host DEFAULT VALUES")
}

func mainFile(t *testing.T, db *sql.DB) string {
	t.Helper()
	var name string
	if err := db.QueryRow("SELECT file FROM pragma_database_list").Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

// An interrupted write would end the transaction, and the next statement would run by itself.
func TestStatementsOfTheLibraryAreNotInterrupted(t *testing.T) {
	db := open(t, file(t))
	exec(t, db, "CREATE TABLE host (id INTEGER PRIMARY KEY)")
	tx := begin(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	const long = `
INSERT INTO host
  WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
SELECT i FROM n`
	if _, err := tx.ExecContext(ctx, long); err != nil {
		t.Errorf("the statement was interrupted: %v", err)
	}
	if ctx.Err() == nil {
		t.Fatal("the statement was too short: the test proves nothing")
	}
	// The next is not started, and the transaction is still whole.
	if _, err := tx.ExecContext(ctx, "DELETE FROM host"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if _, err := tx.QueryContext(ctx, "SELECT id FROM host"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM host").Scan(&n); err != nil || n != 60000 {
		t.Errorf("%d rows: %v", n, err)
	}
}

// With a rollback journal, COMMIT finds the database busy while a reader is at work, and SQLite leaves the transaction
// open.
func TestAFailedCommitLeavesNothing(t *testing.T) {
	name := file(t)
	db := bare(t, name) // rollback journal, no busy time-out
	exec(t, db, "CREATE TABLE host (id INTEGER PRIMARY KEY)")
	exec(t, db, "INSERT INTO host VALUES (1), (2)")
	reader, err := bare(t, name).Query("SELECT id FROM host")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	reader.Next()

	tx := begin(t, db)
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO host VALUES (3)"); err != nil {
		t.Fatal(err)
	}
	err = tx.Commit()
	if got := sqlite.New().Classify(err); got != dialect.Conflict {
		t.Errorf("the commit: %v: %v, want a conflict", err, got)
	}
	reader.Close()
	if in := db.Stats().InUse; in != 0 {
		t.Errorf("%d connections are still in use", in)
	}
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM host").Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows, want 2: %v", n, err)
	}
	begin(t, db)
}

// That SQLite has ended the transaction by itself is no fault of Rollback's, but it is one of Commit's.
func TestATransactionThatSQLiteHasEnded(t *testing.T) {
	db := open(t, file(t))
	db.SetMaxOpenConns(1)
	exec(t, db, "CREATE TABLE host (id INTEGER PRIMARY KEY)")
	const fails = "INSERT OR ROLLBACK INTO host VALUES (1), (1)"

	tx := begin(t, db)
	if _, err := tx.ExecContext(t.Context(), fails); err == nil {
		t.Fatal("no error")
	}
	if err := tx.Rollback(); err != nil {
		t.Errorf("rollback: %v", err)
	}
	tx = begin(t, db)
	if _, err := tx.ExecContext(t.Context(), fails); err == nil {
		t.Fatal("no error")
	}
	if err := tx.Commit(); err == nil {
		t.Error("commit reports success for a transaction that was rolled back")
	}
	exec(t, db, "INSERT INTO host VALUES (1)")
}
