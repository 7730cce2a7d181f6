package dialect_test

import (
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/mysql"
	"github.com/sqloutbox/sqloutbox/dialect/postgres"
	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/internal/stubdb"
)

func wantRefusal(t *testing.T, d dialect.Dialect, db *sql.DB, parts ...string) {
	t.Helper()
	err := d.Check(t.Context(), db)
	if err == nil {
		t.Errorf("the %s dialect accepts it; want an error with %q", d.Name(), parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: doesn't say %q", err, part)
		}
	}
}

func TestCheckAcceptsTheEnginesAndKeepsNoConnection(t *testing.T) {
	each(t, func(t *testing.T, db *sql.DB, d dialect.Dialect) {
		db.SetMaxOpenConns(1)
		for range 2 {
			if err := d.Check(t.Context(), db); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCheckNamesTheRightDialectForAPoolOfAnotherKind(t *testing.T) {
	dialects := []dialect.Dialect{postgres.New(), mysql.New(), sqlite.New()}
	each(t, func(t *testing.T, db *sql.DB, right dialect.Dialect) {
		for _, d := range dialects {
			if d.Name() != right.Name() {
				wantRefusal(t, d, db, "the "+d.Name()+" dialect", "use dialect/"+right.Name())
			}
		}
	})
}

func TestCheckRefusesOldAndStrangeServers(t *testing.T) {
	version := func(text string) stubdb.Answers {
		return stubdb.Answers{"SELECT version()": {text}}
	}
	old := stubdb.Open(stubdb.Answers{
		"SELECT version()": {"PostgreSQL 10.23 on x86_64-pc-linux-gnu"},
		postgresState:      {int64(100023), false, false, "UTF8", "UTF8"},
	})
	wantRefusal(t, postgres.New(), old, "too old", "PostgreSQL 11", "10.23")
	wantRefusal(t, postgres.New(), stubdb.Open(version("CockroachDB CCL v23.1.11")), "CockroachDB")
	wantRefusal(t, mysql.New(), stubdb.Open(version("5.7.44-log")), "too old", "8.0.16", "5.7.44")
	wantRefusal(t, mysql.New(), stubdb.Open(version("10.5.22-MariaDB")), "too old", "10.6", "10.5.22")
	wantRefusal(t, mysql.New(), stubdb.Open(version("8.0.11-TiDB-v7.5.0")), "TiDB")
	wantRefusal(t, mysql.New(), stubdb.Open(version("CockroachDB CCL v23.1.11")), "CockroachDB")
	wantRefusal(t, sqlite.New(), stubdb.Open(stubdb.Answers{"SELECT sqlite_version()": {"3.41.2"}}), "too old", "3.42", "3.41.2")
	for _, d := range []dialect.Dialect{postgres.New(), mysql.New(), sqlite.New()} {
		wantRefusal(t, d, stubdb.Open(nil), "ask for the version", "no answer")
	}
}

// postgresState is what Check asks PostgreSQL after its version.
const postgresState = `
SELECT current_setting('server_version_num')::BIGINT,
       pg_is_in_recovery(),
       current_setting('transaction_read_only') = 'on',
       current_setting('server_encoding'),
       current_setting('client_encoding')`

func TestCheckRefusesWhatNeverCommits(t *testing.T) {
	standby := stubdb.Open(stubdb.Answers{
		"SELECT version()": {"PostgreSQL 15.18 (Debian 15.18-0+deb12u1)"},
		postgresState:      {int64(150018), true, true, "UTF8", "UTF8"},
	})
	wantRefusal(t, postgres.New(), standby, "read-only standby", "primary")

	replica := func(variable string, value driver.Value) *sql.DB {
		answers := stubdb.Answers{
			"SELECT version()":                       {"8.0.36"},
			"SELECT @@session.autocommit":            {int64(1)},
			"SELECT @@session.transaction_isolation": {"REPEATABLE-READ"},
			askBinaryLog:                             {int64(1), "MIXED"},
			"SELECT @@global.read_only":              {int64(0)},
			"SELECT @@global.innodb_read_only":       {int64(0)},
			"SELECT @@session.transaction_read_only": {int64(0)},
			"SELECT @@session.tx_read_only":          {int64(0)},
		}
		answers["SELECT "+variable] = []driver.Value{value}
		return stubdb.Open(answers)
	}
	wantRefusal(t, mysql.New(), replica("@@global.read_only", int64(1)), "read-only", "primary")
	wantRefusal(t, mysql.New(), replica("@@global.read_only", "NO_LOCK_NO_ADMIN"), "read-only", "primary") // MariaDB 12
	wantRefusal(t, mysql.New(), replica("@@session.autocommit", int64(0)), "autocommit")
	wantRefusal(t, mysql.New(), replica("@@global.innodb_read_only", int64(1)), "read-only", "writer")
	for _, off := range []driver.Value{int64(0), "OFF", nil} {
		if err := mysql.New().Check(t.Context(), replica("@@global.read_only", off)); err != nil {
			t.Errorf("read_only = %v: %v", off, err)
		}
	}
}

const askBinaryLog = "SELECT @@global.log_bin, @@session.binlog_format"

// InnoDB refuses each write of the relay there, and none of the host's.
func TestCheckRefusesABinaryLogOfStatements(t *testing.T) {
	eachURL(t, func(t *testing.T, url string) {
		db, d := open(t, url)
		if d.Name() != "mysql" {
			return
		}
		var on bool
		var format string
		if err := db.QueryRow(askBinaryLog).Scan(&on, &format); err != nil {
			t.Fatal(err)
		}
		statements, _ := open(t, withParameter(t, url, "binlog_format", "'STATEMENT'"))
		if on {
			wantRefusal(t, d, statements, "binlog_format", "ROW or MIXED")
		} else if err := d.Check(t.Context(), statements); err != nil {
			t.Errorf("there is no log: %v", err)
		}
	})
}

// A reader would see what a relay's late settle has numbered, and is rolled back.
func TestCheckRefusesSessionsThatReadWhatIsNotCommitted(t *testing.T) {
	eachURL(t, func(t *testing.T, url string) {
		_, d := open(t, url)
		if d.Name() != "mysql" {
			t.Skip("only MySQL and MariaDB have sessions of that level")
		}
		parameter := "transaction_isolation"
		if strings.HasPrefix(url, "mariadb") {
			parameter = "tx_isolation"
		}
		for level, refused := range map[string]bool{"READ-UNCOMMITTED": true, "READ-COMMITTED": false, "REPEATABLE-READ": false, "SERIALIZABLE": false} {
			db, _ := open(t, withParameter(t, url, parameter, "'"+level+"'"))
			if refused {
				wantRefusal(t, d, db, "READ UNCOMMITTED", parameter+"='READ-COMMITTED'")
			} else if err := d.Check(t.Context(), db); err != nil {
				t.Errorf("%s: %v", level, err)
			}
		}
	})
}

// What an error says may hold any character, and so may names.
func TestCheckRefusesEncodingsThatLackCharacters(t *testing.T) {
	const text = "\uFFFD 事件 é"
	eachURL(t, func(t *testing.T, url string) {
		db, d := open(t, url)
		switch d.Name() {
		case "postgres":
			for encoding, refused := range map[string]bool{"LATIN1": true, "EUC_JP": true, "SQL_ASCII": false, "UTF8": false} {
				name := one[string](t, db, "SELECT current_database()") + "_" + strings.ToLower(encoding)
				exec(t, db, "CREATE DATABASE "+name+" ENCODING '"+encoding+"' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
				other, err := sql.Open("pgx", strings.Replace(url, strings.TrimSuffix(name, "_"+strings.ToLower(encoding)), name, 1))
				if err != nil {
					t.Fatal(err)
				}
				defer exec(t, db, "DROP DATABASE "+name)
				defer other.Close()
				if refused {
					wantRefusal(t, d, other, "the database's encoding is "+encoding, "ENCODING 'UTF8'")
					continue
				}
				if err := d.Check(t.Context(), other); err != nil {
					t.Errorf("%s: %v", encoding, err)
				}
				if got := one[string](t, other, "SELECT $1::TEXT", text); got != text {
					t.Errorf("%s makes %q of %q", encoding, got, text)
				}
			}
			session, _ := open(t, withParameter(t, url, "client_encoding", "LATIN1"))
			wantRefusal(t, d, session, "client_encoding is LATIN1", "client_encoding to UTF8")
			session, _ = open(t, withParameter(t, url, "client_encoding", "UNICODE")) // an old name of it
			if err := d.Check(t.Context(), session); err != nil {
				t.Errorf("UNICODE: %v", err)
			}
		case "sqlite":
			for _, encoding := range []string{"UTF-16le", "UTF-16be"} {
				other, _ := open(t, "sqlite:"+filepath.Join(t.TempDir(), "app.db")+"?_pragma=encoding('"+encoding+"')")
				exec(t, other, "CREATE TABLE host (id BIGINT PRIMARY KEY)")
				wantRefusal(t, d, other, "encoding is "+encoding, "UTF-8")
			}
		default:
			t.Skip("its columns hold bytes")
		}
	})
}

func TestCheckRefusesReadOnlySessions(t *testing.T) {
	eachURL(t, func(t *testing.T, url string) {
		writer, d := open(t, url)
		exec(t, writer, "CREATE TABLE host (id BIGINT PRIMARY KEY)")
		db, _ := open(t, readOnly(d, url))
		wantRefusal(t, d, db, "read-only")
	})
}

func TestCheckRefusesASQLiteFileThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.db")
	db, d := open(t, "sqlite:"+file)
	exec(t, db, "CREATE TABLE host (id BIGINT PRIMARY KEY)")
	for _, address := range []string{"sqlite:" + file + "?_query_only=1", "sqlite:file:" + file + "?mode=ro"} {
		reader, _ := open(t, address)
		wantRefusal(t, d, reader, "read-only")
	}
	// Somebody else's write lock is no reason.
	tx, err := d.Begin(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	hasty, _ := open(t, "sqlite:"+file+"?_busy_timeout=10")
	if err := d.Check(t.Context(), hasty); err != nil {
		t.Errorf("while another writes: %v", err)
	}
}

func TestCheckRefusesAMemoryDatabaseOnSeveralConnections(t *testing.T) {
	for _, dsn := range []string{":memory:", "file::memory:", "file:name?mode=memory"} {
		bare, err := sql.Open("sqlite", dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer bare.Close()
		wantRefusal(t, sqlite.New(), bare, "in memory", "SetMaxOpenConns(1)")
		bare.SetMaxOpenConns(1)
		if err := sqlite.New().Check(t.Context(), bare); err != nil {
			t.Errorf("%s on one connection: %v", dsn, err)
		}

		db, _ := open(t, "sqlite:"+dsn)
		if err := sqlite.New().Check(t.Context(), db); err != nil {
			t.Errorf("%s opened by Open: %v", dsn, err)
		}
	}
}
