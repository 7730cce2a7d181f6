package migrations_test

import (
	"database/sql"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/migrations"
)

// eachMySQL runs fn on an empty database of MySQL and of MariaDB.
func eachMySQL(t *testing.T, fn func(t *testing.T, address string)) {
	engines.EachOf(t, []string{"mysql", "mariadb"}, func(t *testing.T, e *engines.Engine) { fn(t, e.NewDatabase(t)) })
}

func withParams(t *testing.T, address string, params url.Values) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.RawQuery = params.Encode()
	return u.String()
}

// wantUsable migrates, checks, and looks whether text and bytes come back as they went in.
func wantUsable(t *testing.T, db *sql.DB, d dialect.Dialect) {
	t.Helper()
	up(t, db, d, nil)
	if err := migrations.Check(t.Context(), db, d, nil); err != nil {
		t.Error(err)
	}
	const id, topic = "日本 \U0001F600 é ", `to'pic\`
	payload := []byte{0, 0xff, '\'', '\\', 0xc3, 0x28}
	exec(t, db, "INSERT INTO outbox_events (id, topic, payload) VALUES (?, ?, ?)", id, topic, payload)
	var gotTopic string
	var gotPayload []byte
	err := db.QueryRow("SELECT topic, payload FROM outbox_events WHERE id = ?", id).Scan(&gotTopic, &gotPayload)
	if err != nil || gotTopic != topic || !slices.Equal(gotPayload, payload) {
		t.Errorf("%q %q came back: %v", gotTopic, gotPayload, err)
	}
}

func TestTheDatabasesCharacterSetDoesNotMatter(t *testing.T) {
	eachMySQL(t, func(t *testing.T, address string) {
		db, d := open(t, address)
		for _, charset := range []string{"latin1", "utf8mb3", "utf8mb4", "ucs2", "binary"} {
			exec(t, db, "ALTER DATABASE CHARACTER SET "+charset)
			wantUsable(t, db, d)
			if err := migrations.Down(t.Context(), db, d, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestTheSessionsSettingsDoNotMatter(t *testing.T) {
	eachMySQL(t, func(t *testing.T, address string) {
		for _, params := range []url.Values{
			{"sql_mode": {"''"}},
			{"sql_mode": {"'ANSI_QUOTES'"}},
			{"sql_mode": {"'ANSI,NO_BACKSLASH_ESCAPES'"}},
			{"sql_mode": {"'TRADITIONAL,NO_ZERO_DATE,NO_ZERO_IN_DATE,PIPES_AS_CONCAT,IGNORE_SPACE,HIGH_NOT_PRECEDENCE'"}},
			{"charset": {"latin1"}},
			{"collation": {"utf8mb4_unicode_ci"}},
			{"time_zone": {"'-11:30'"}},
			{"interpolateParams": {"false"}},
			{"parseTime": {"true"}},
			{"clientFoundRows": {"true"}},
		} {
			db, d := open(t, withParams(t, address, params))
			if params.Has("charset") { // the connection says what its text is
				up(t, db, d, nil)
			} else {
				wantUsable(t, db, d)
			}
			if err := migrations.Down(t.Context(), db, d, nil); err != nil {
				t.Fatalf("%v: %v", params, err)
			}
		}
	})
}

// Without autocommit nobody would commit what Up notes in its version table.
func TestUpRefusesSessionsWithoutAutocommit(t *testing.T) {
	eachMySQL(t, func(t *testing.T, address string) {
		db, d := open(t, withParams(t, address, url.Values{"autocommit": {"0"}}))
		if err := migrations.Up(t.Context(), db, d, nil); err == nil || !strings.Contains(err.Error(), "autocommit") {
			t.Errorf("got %v", err)
		}
		if made := tables(t, db, d); len(made) != 0 {
			t.Errorf("Up made %v", made)
		}
	})
}

// Some servers refuse a table without one, or changes to it: sql_require_primary_key on MySQL, Galera, group replication.
func TestEveryTableHasAPrimaryKey(t *testing.T) {
	eachMySQL(t, func(t *testing.T, address string) {
		db, d := open(t, address)
		db.SetMaxOpenConns(1)
		_, err := db.Exec("SET SESSION sql_require_primary_key = 1")
		if unknown, ok := errors.AsType[*driver.MySQLError](err); ok && unknown.Number == 1193 {
			err = nil // MariaDB has a switch for the whole server only, and that is shared
		} else if _, bare := db.Exec("CREATE TABLE bare (n BIGINT)"); bare == nil {
			t.Fatal("sql_require_primary_key has no effect")
		}
		if err != nil {
			t.Fatal(err)
		}
		wantUsable(t, db, d)
		const without = `
SELECT table_name
  FROM information_schema.tables t
 WHERE table_schema = DATABASE()
   AND NOT EXISTS (SELECT 1
                     FROM information_schema.table_constraints c
                    WHERE c.table_schema = t.table_schema
                      AND c.table_name = t.table_name
                      AND c.constraint_type = 'PRIMARY KEY')`
		if got := column[string](t, db, without); len(got) > 0 {
			t.Errorf("without a primary key: %v", got)
		}
	})
}

// An id that is too long must not be cut: two events would become one.
func TestALaxServerStillRefusesWhatBreaksTheTable(t *testing.T) {
	eachMySQL(t, func(t *testing.T, address string) {
		db, d := open(t, withParams(t, address, url.Values{"sql_mode": {"''"}}))
		up(t, db, d, nil)
		if _, err := db.Exec("INSERT INTO outbox_events (id, topic, payload) VALUES ('', 'topic', '')"); err == nil {
			t.Error("an empty id was taken")
		}
		if _, err := db.Exec("INSERT INTO outbox_events (id, topic, payload) VALUES ('id', '', '')"); err == nil {
			t.Error("an empty topic was taken")
		}
	})
}
