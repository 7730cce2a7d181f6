package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
)

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sqlite.Open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "app.db") }

func exec(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.Exec(query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// A PRAGMA that is executed would hold for one connection of the pool.
func TestOpenSetsUpEveryConnection(t *testing.T) {
	db := open(t, file(t))
	for range 8 {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() // all are held at once
		for pragma, want := range map[string]string{
			"busy_timeout": "60000", "journal_mode": "wal", "synchronous": "2", "foreign_keys": "0",
		} {
			var got string
			if err := conn.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %s, want %s: %v", pragma, got, want, err)
			}
		}
	}
}

func TestOpenKeepsWhatTheDSNSets(t *testing.T) {
	db := open(t, file(t)+"?_pragma=foreign_keys(1)&_journal_mode=DELETE&_busy_timeout=77&_synchronous=NORMAL")
	for pragma, want := range map[string]string{
		"busy_timeout": "77", "journal_mode": "delete", "synchronous": "1", "foreign_keys": "1",
	} {
		var got string
		if err := db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, want %s: %v", pragma, got, want, err)
		}
	}
}

func TestOpenOfAMemoryDatabaseHasOneConnection(t *testing.T) {
	for _, dsn := range []string{":memory:", "file::memory:", "file:name?mode=memory"} {
		if n := open(t, dsn).Stats().MaxOpenConnections; n != 1 {
			t.Errorf("%s: up to %d connections", dsn, n)
		}
	}
	if n := open(t, file(t)).Stats().MaxOpenConnections; n != 0 {
		t.Errorf("a file: up to %d connections", n)
	}
}

func TestOpenRefusesAnEmptyDSN(t *testing.T) {
	if db, err := sqlite.Open(""); err == nil || db != nil {
		t.Error("an empty DSN was taken: SQLite would make a database that vanishes")
	}
}

// The driver would drop them: a database that was to be read would be written, and one in memory would be a file.
func TestOpenRefusesSQLitesOwnParametersOnAPlainName(t *testing.T) {
	name := file(t)
	for _, parameter := range []string{"mode=ro", "mode=memory", "cache=shared", "immutable=1", "nolock=1", "psow=0", "modeof=other"} {
		for _, dsn := range []string{name + "?" + parameter, name + "?_txlock=deferred&" + parameter, ":memory:?" + parameter} {
			key, _, _ := strings.Cut(parameter, "=")
			_, err := sqlite.Open(dsn)
			if err == nil || !strings.Contains(err.Error(), "sets "+key) || !strings.Contains(err.Error(), "file:"+dsn) {
				t.Errorf("%s: %v", dsn, err)
			}
		}
		open(t, "file:"+name+"?"+parameter)
	}
	open(t, name+"?vfs=unix") // the driver's own too
}

// Turning a new file to WAL takes a lock that others may hold.
func TestManyPoolsMayMeetOnANewFile(t *testing.T) {
	for range 20 {
		name := file(t)
		var group sync.WaitGroup
		for range 8 {
			db := open(t, name)
			group.Go(func() {
				if _, err := db.Exec("CREATE TABLE IF NOT EXISTS host (id BIGINT)"); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
}

// A transaction of the host's that reads first and then writes is refused by SQLite at once if another has written
// meanwhile, unless it began as a writer.
func TestReadThenWriteWaitsForItsTurn(t *testing.T) {
	name := file(t)
	db := open(t, name)
	exec(t, db, "CREATE TABLE counter (n BIGINT)")
	exec(t, db, "INSERT INTO counter VALUES (0)")
	const writers, rounds = 4, 25
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range rounds {
				if err := increment(db); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	var n int
	if err := db.QueryRow("SELECT n FROM counter").Scan(&n); err != nil || n != writers*rounds {
		t.Errorf("the counter is %d, want %d: %v", n, writers*rounds, err)
	}
}

func increment(db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var n int
	if err := tx.QueryRow("SELECT n FROM counter").Scan(&n); err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE counter SET n = ?", n+1); err != nil {
		return err
	}
	return tx.Commit()
}
