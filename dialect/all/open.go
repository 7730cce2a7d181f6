// Package all opens a database of any engine by URL. It links every driver; a program that uses one engine imports its
// dialect alone.
package all

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/mysql"
	"github.com/sqloutbox/sqloutbox/dialect/postgres"
	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
)

// Open makes a pool and its dialect from a URL:
//
//	postgres://user:password@host:5432/db?sslmode=disable   (also postgresql://; everything that pgx understands)
//	mysql://user:password@host:3306/db?timeout=5s           (also mariadb://; parameters are the driver's)
//	mysql://user@/db?socket=/run/mysqld/mysqld.sock
//	sqlite:/var/lib/app.db                                  (also sqlite:///var/lib/app.db; parameters are the driver's)
//	sqlite:relative.db, sqlite::memory:
//
// No connection is made yet. Each engine's own Open says what it adds.
func Open(url string) (*sql.DB, dialect.Dialect, error) {
	scheme, rest, found := strings.Cut(url, ":")
	if !found {
		scheme = ""
	}
	var db *sql.DB
	var d dialect.Dialect
	var err error
	switch strings.ToLower(scheme) {
	case "postgres", "postgresql":
		d = postgres.New()
		db, err = postgres.Open(url)
	case "mysql", "mariadb":
		d = mysql.New()
		db, err = openMySQL(rest)
	case "sqlite":
		d = sqlite.New()
		db, err = sqlite.Open(strings.TrimPrefix(rest, "//"))
	default:
		err = fmt.Errorf("open: the URL begins with %q: postgres://, postgresql://, mysql://, mariadb:// and sqlite: are known", scheme)
	}
	if err != nil {
		return nil, nil, err
	}
	return db, d, nil
}
