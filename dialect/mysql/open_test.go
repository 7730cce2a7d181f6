package mysql_test

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/dialect/mysql"
	"github.com/sqloutbox/sqloutbox/internal/engines"
)

// each runs fn with the address of an empty database on MySQL and on MariaDB.
func each(t *testing.T, fn func(t *testing.T, address string)) {
	engines.EachOf(t, []string{"mysql", "mariadb"}, func(t *testing.T, e *engines.Engine) { fn(t, e.NewDatabase(t)) })
}

func open(t *testing.T, address string, params url.Values) *sql.DB {
	t.Helper()
	if len(params) > 0 {
		address += "?" + params.Encode()
	}
	db, _, err := all.Open(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// sqlModes are the ways in which a server may read a literal.
var sqlModes = []string{
	"", "STRICT_ALL_TABLES", "NO_BACKSLASH_ESCAPES", "ANSI", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES",
}

func TestBytesAndTextSurviveInterpolationInEverySQLMode(t *testing.T) {
	payloads := [][]byte{{}, {0}, []byte(`'`), []byte(`\`), []byte(`\'`), []byte("''\\\"\x00\x1a\n\r%_?"), []byte("\xbf\x27 OR 1=1 --"), every()}
	for range 20 {
		random := make([]byte, 4096)
		rand.Read(random)
		payloads = append(payloads, random)
	}
	texts := []string{"", "'", `\`, `\\'`, `a'; DROP TABLE kept; --`, "日本 😀 é", "trail ", "\t\n\r\x1a?", `"quoted"`, "%_"}
	each(t, func(t *testing.T, address string) {
		exec(t, open(t, address, nil), "CREATE TABLE kept (id BIGINT AUTO_INCREMENT PRIMARY KEY, payload LONGBLOB NOT NULL, text VARBINARY(255) NOT NULL)")
		for _, mode := range sqlModes {
			db := open(t, address, url.Values{"sql_mode": {"'" + mode + "'"}})
			db.SetMaxOpenConns(1)
			for i, payload := range payloads {
				text := texts[i%len(texts)]
				exec(t, db, "INSERT INTO kept (payload, text) VALUES (?, ?)", payload, text)
				var gotPayload []byte
				var gotText string
				err := db.QueryRow("SELECT payload, text FROM kept WHERE text = ? ORDER BY id DESC LIMIT 1", text).Scan(&gotPayload, &gotText)
				if err != nil {
					t.Fatalf("sql_mode %q: %q: %v", mode, text, err)
				}
				if !bytes.Equal(gotPayload, payload) || gotText != text {
					t.Errorf("sql_mode %q: %q %q came back as %q %q", mode, payload, text, gotPayload, gotText)
				}
			}
		}
	})
}

func every() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// The mode may change while a connection lives.
func TestInterpolationFollowsTheSessionsSQLMode(t *testing.T) {
	each(t, func(t *testing.T, address string) {
		db := open(t, address, nil)
		db.SetMaxOpenConns(1)
		for i := range 6 {
			exec(t, db, "SET sql_mode = '"+sqlModes[2*(i%2)]+"'")
			const text = `a\' b\\`
			var got string
			if err := db.QueryRow("SELECT ?", text).Scan(&got); err != nil || got != text {
				t.Errorf("%q came back as %q: %v", text, got, err)
			}
		}
	})
}

// What the server is told to do shows in its counters: no statement is prepared.
func TestOpenInterpolatesUnlessTheDSNSaysOtherwise(t *testing.T) {
	tests := []struct {
		params       url.Values
		interpolates bool
	}{
		{nil, true},
		{url.Values{"charset": {"utf8mb4"}}, true},
		{url.Values{"collation": {"utf8mb4_unicode_ci"}}, true},
		{url.Values{"charset": {"latin1"}}, true},
		{url.Values{"interpolateParams": {"false"}}, false},
		{url.Values{"charset": {"gbk"}}, false},
		{url.Values{"collation": {"sjis_japanese_ci"}}, false},
	}
	each(t, func(t *testing.T, address string) {
		for _, test := range tests {
			db := open(t, address, test.params)
			db.SetMaxOpenConns(1)
			var got string
			if err := db.QueryRow("SELECT ?", "x").Scan(&got); err != nil {
				t.Fatalf("%v: %v", test.params, err)
			}
			var name string
			var prepared int
			if err := db.QueryRow("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'").Scan(&name, &prepared); err != nil {
				t.Fatal(err)
			}
			if (prepared == 0) != test.interpolates {
				t.Errorf("%v: %d statements were prepared", test.params, prepared)
			}
		}
	})
}

func TestOpenReadsTheParametersAsTheDriverDoes(t *testing.T) {
	for _, dsn := range []string{
		"u:p?charset=gbk@tcp(h:3306)/db?sql_mode=%27ANSI%27",
		"u:p/w?interpolateParams=false@tcp(h:3306)/db",
		"u@unix(/run/mysqld.sock)/db",
		"/",
	} {
		db, err := mysql.Open(dsn)
		if err != nil {
			t.Errorf("%s: %v", dsn, err)
			continue
		}
		db.Close()
	}
	for _, dsn := range []string{"no-slash", "u@tcp(h/db", "/db?timeout=soon", "/db?collation=sjis_japanese_ci&interpolateParams=true"} {
		if _, err := mysql.Open(dsn); err == nil || !strings.HasPrefix(err.Error(), "open mysql: ") {
			t.Errorf("%s: %v", dsn, err)
		}
	}
}

func exec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", fmt.Sprintf("%.200s", query), err)
	}
}
