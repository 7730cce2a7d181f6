// Package server tells which kind of database answers, whatever dialect its pool was given to.
package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Kinds that Identify tells apart.
const (
	PostgreSQL = "PostgreSQL"
	MySQL      = "MySQL"
	MariaDB    = "MariaDB"
	TiDB       = "TiDB"
	SQLite     = "SQLite"
	Unknown    = "an unknown server"
)

// Identify asks db for its version text and says whose it is. version() exists on all but SQLite, which has
// sqlite_version(). A lost connection, or whatever else classify says may pass by itself, is the whole error: beside the other
// answer, that there is no such function, it would not be known as one.
func Identify(ctx context.Context, db *sql.DB, classify func(error) dialect.Class) (kind, version string, err error) {
	first := db.QueryRowContext(ctx, "SELECT version()").Scan(&version)
	if first == nil {
		return kindOf(version), version, nil
	}
	if classify(first).Retryable() {
		return "", "", first
	}
	second := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version)
	if second == nil {
		return SQLite, version, nil
	}
	if classify(second).Retryable() {
		return "", "", second
	}
	return "", "", errors.Join(first, second)
}

// kindOf reads what version() says: "PostgreSQL 15.18 (Debian …) on x86_64…", "8.0.36", "10.11.19-MariaDB-0+deb12u1",
// "8.0.11-TiDB-v7.5.0". MySQL's own is the number alone, with any suffix.
func kindOf(version string) string {
	lower := strings.ToLower(version)
	switch {
	case strings.HasPrefix(version, "PostgreSQL "):
		return PostgreSQL
	case strings.Contains(lower, "mariadb"):
		return MariaDB
	case strings.Contains(lower, "tidb"):
		return TiDB
	case version != "" && version[0] >= '0' && version[0] <= '9':
		return MySQL
	default:
		return Unknown
	}
}

// Mismatch is the error of a pool given to a dialect of another kind.
func Mismatch(dialect, kind, version string) error {
	var right string
	switch kind {
	case PostgreSQL:
		right = "use dialect/postgres"
	case MySQL, MariaDB:
		right = "use dialect/mysql"
	case SQLite:
		right = "use dialect/sqlite"
	default:
		right = "there is no dialect for it"
	}
	return fmt.Errorf("the %s dialect was given a pool of %s (%s): %s", dialect, kind, version, right)
}
