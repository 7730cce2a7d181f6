package dialect_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

func wantClass(t *testing.T, d dialect.Dialect, err error, want dialect.Class) {
	t.Helper()
	if err == nil {
		t.Fatal("there was no error to classify")
	}
	for range 3 {
		if got := d.Classify(err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
		err = fmt.Errorf("operation: %w", err) // through any number of wrappings
	}
	if got := d.Classify(errors.Join(errors.New("other"), err)); got != want {
		t.Errorf("joined: %v: %q, want %q", err, got, want)
	}
}

func failing(t *testing.T, e dialect.Execer, query string, args ...any) error {
	t.Helper()
	_, err := e.ExecContext(t.Context(), query, args...)
	if err == nil {
		t.Fatalf("%s: no error", query)
	}
	return err
}

func TestClassOfWhatTheServerAnswers(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		exec(t, db, "CREATE TABLE host (id BIGINT PRIMARY KEY, name VARCHAR(20) NOT NULL UNIQUE)")
		exec(t, db, "INSERT INTO host VALUES (1, 'one')")

		key := dialect.KeyTaken
		if d.Name() == "mysql" {
			key = dialect.Duplicate // its codes don't tell the two apart
		}
		wantClass(t, d, failing(t, db, "INSERT INTO host VALUES (1, 'two')"), key)
		wantClass(t, d, failing(t, db, "INSERT INTO host VALUES (2, 'one')"), dialect.Duplicate)
		wantClass(t, d, failing(t, db, "INSERT INTO host VALUES (3, NULL)"), dialect.Other)
		wantClass(t, d, failing(t, db, "SELEKT"), dialect.Other)

		missing := dialect.SchemaMissing
		if d.Name() == "sqlite" {
			missing = dialect.Other // SQLite has no code for it
		}
		wantClass(t, d, failing(t, db, "INSERT INTO elsewhere VALUES (1)"), missing)
		wantClass(t, d, failing(t, db, "UPDATE host SET elsewhere = 1"), missing)
		if d.Name() == "mysql" {
			wantClass(t, d, failing(t, db, "SELECT id FROM host"+d.IndexHint("elsewhere")), missing)
		}
	})
}

func TestClassOfAContextsEndIsOther(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := db.ExecContext(ctx, "SELECT 1")
		wantClass(t, d, err, dialect.Other)

		ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = db.ExecContext(ctx, sleep(d))
		wantClass(t, d, err, dialect.Other)

		if got := d.Classify(nil); got != dialect.Other {
			t.Errorf("nil is %v", got)
		}
		wantClass(t, d, errors.New("database is locked (5) (SQLITE_BUSY) deadlock 1213 40P01"), dialect.Other)
		wantClass(t, d, sql.ErrTxDone, dialect.Other)
	})
}

// sleep is a statement that takes about ten seconds.
func sleep(d dialect.Dialect) string {
	switch d.Name() {
	case "postgres":
		return "SELECT pg_sleep(10)"
	case "mysql":
		return "DO SLEEP(10)"
	}
	return "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000000) SELECT max(i) FROM n"
}

func TestClassOfALockTimeOutIsConflict(t *testing.T) {
	eachURL(t, func(t *testing.T, url string) {
		holder, d := open(t, url)
		exec(t, holder, "CREATE TABLE host (id BIGINT PRIMARY KEY)")
		exec(t, holder, "INSERT INTO host VALUES (1)")
		held, err := d.Begin(t.Context(), holder)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Rollback()
		column[int64](t, held, "SELECT id FROM host"+d.Lock())

		switch d.Name() {
		case "postgres":
			url += "&lock_timeout=100"
		case "mysql":
			url += "?innodb_lock_wait_timeout=1"
		default:
			url += "?_busy_timeout=100"
		}
		db, _ := open(t, url)
		tx, err := d.Begin(t.Context(), db)
		if err == nil {
			_, err = tx.ExecContext(t.Context(), "UPDATE host SET id = 2")
			tx.Rollback()
		}
		wantClass(t, d, err, dialect.Conflict)
	})
}

func TestClassOfAStatementTimeOutIsConflict(t *testing.T) {
	eachURL(t, func(t *testing.T, url string) {
		_, d := open(t, url)
		// SLEEP ends early instead of failing, and MySQL's limit is for SELECT alone.
		const long = "SELECT COUNT(*) FROM information_schema.columns a, information_schema.columns b, information_schema.columns c"
		statement := long
		switch {
		case d.Name() == "postgres":
			url += "&statement_timeout=100"
			statement = sleep(d)
		case strings.HasPrefix(url, "mysql"):
			url += "?max_execution_time=100"
		case strings.HasPrefix(url, "mariadb"):
			url += "?max_statement_time=0.1"
		default:
			t.Skip("SQLite has no time-out but the context's")
		}
		db, _ := open(t, url)
		wantClass(t, d, failing(t, db, statement), dialect.Conflict)
	})
}

func TestClassOfAReadThatTurnsToWritingTooLateIsConflict(t *testing.T) {
	eachURL(t, func(t *testing.T, url string) {
		if !strings.HasPrefix(url, "sqlite") {
			t.Skip("only SQLite has transactions that are to read at first")
		}
		db, d := open(t, url+"?_txlock=deferred")
		exec(t, db, "CREATE TABLE host (id BIGINT)")
		late := begin(t, db)
		column[int64](t, late, "SELECT id FROM host")
		exec(t, db, "INSERT INTO host VALUES (1)")
		wantClass(t, d, failing(t, late, "INSERT INTO host VALUES (2)"), dialect.Conflict) // 517
	})
}

func TestClassOfALostConnectionIsDisconnected(t *testing.T) {
	eachURL(t, func(t *testing.T, url string) {
		db, d := open(t, url)
		kill := map[string]string{"postgres": "SELECT pg_terminate_backend(%d)", "mysql": "KILL %d"}[d.Name()]
		ask := map[string]string{"postgres": "SELECT pg_backend_pid()", "mysql": "SELECT CONNECTION_ID()"}[d.Name()]
		if kill == "" {
			t.Skip("SQLite has no connection to lose")
		}
		tx, err := d.Begin(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		id := one[int64](t, tx, ask)

		// While a statement runs, and then on the dead connection.
		time.AfterFunc(200*time.Millisecond, func() { db.Exec(fmt.Sprintf(kill, id)) })
		wantClass(t, d, failing(t, tx, sleep(d)), dialect.Disconnected)
		wantClass(t, d, failing(t, tx, "SELECT 1"), dialect.Disconnected)
		wantClass(t, d, tx.Commit(), dialect.Disconnected)
	})
}

func TestClassOfNoServerIsDisconnected(t *testing.T) {
	eachURL(t, func(t *testing.T, url string) {
		_, d := open(t, url)
		switch {
		case d.Name() == "sqlite":
			url = "sqlite:" + t.TempDir() + "/no/such/directory/app.db"
		default:
			url = moved(t, url, deadAddress(t))
		}
		db, _ := open(t, url)
		wantClass(t, d, failing(t, db, "SELECT 1"), dialect.Disconnected)
		_, err := d.Begin(t.Context(), db)
		wantClass(t, d, err, dialect.Disconnected)
	})
}

// A server that accepts and says nothing shows up as the driver's own time-out, not as the caller's context.
func TestClassOfASilentServerIsDisconnected(t *testing.T) {
	eachURL(t, func(t *testing.T, url string) {
		_, d := open(t, url)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		switch d.Name() {
		case "postgres":
			url = moved(t, url, listener.Addr().String()) + "&connect_timeout=1"
		case "mysql":
			url = moved(t, url, listener.Addr().String()) + "?timeout=1s&readTimeout=1s"
		default:
			return
		}
		db, _ := open(t, url)
		wantClass(t, d, failing(t, db, "SELECT 1"), dialect.Disconnected)
	})
}

func TestClassOfAReadOnlyDatabase(t *testing.T) {
	eachURL(t, func(t *testing.T, url string) {
		writer, d := open(t, url)
		exec(t, writer, "CREATE TABLE host (id BIGINT PRIMARY KEY)")
		db, _ := open(t, readOnly(d, url))
		wantClass(t, d, failing(t, db, "INSERT INTO host VALUES (1)"), dialect.ReadOnly)
	})
}
