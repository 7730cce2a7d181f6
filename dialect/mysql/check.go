package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	driver "github.com/go-sql-driver/mysql"

	"github.com/sqloutbox/sqloutbox/internal/server"
)

// Check refuses servers that are neither MySQL nor MariaDB, too old, or read-only, and sessions without autocommit or
// isolation. A server with read_only on is refused even to an account that could write all the same: it is a replica, and its events
// would be lost to the primary.
func (m mysql) Check(ctx context.Context, db *sql.DB) error {
	kind, text, err := server.Identify(ctx, db, m.Classify)
	if err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	if kind == server.PostgreSQL || kind == server.SQLite || kind == server.Unknown {
		return server.Mismatch("mysql", kind, text)
	}
	v, err := parseVersion(text)
	if err != nil {
		return err
	}
	if err := v.suits(); err != nil {
		return err
	}
	if err := checkAutocommit(ctx, db); err != nil {
		return err
	}
	if err := checkIsolation(ctx, db); err != nil {
		return err
	}
	if err := checkBinaryLog(ctx, db); err != nil {
		return err
	}
	return checkWritable(ctx, db)
}

// checkAutocommit: without it a statement that stands by itself opens a transaction that nobody ends, on a connection
// that goes back to the pool with it.
func checkAutocommit(ctx context.Context, db *sql.DB) error {
	var on bool
	if err := db.QueryRowContext(ctx, "SELECT @@session.autocommit").Scan(&on); err != nil {
		return fmt.Errorf("ask for autocommit: %w", err)
	}
	if !on {
		return errors.New("autocommit is off for these sessions, so that single statements are never committed: turn it on in the DSN or the server's configuration; transactions are not affected")
	}
	return nil
}

// checkIsolation: what stands alone, such as a look of a reader of the feed, is read at the session's level. At READ UNCOMMITTED
// it would see numbers of a settle that is rolled back, and so miss the event that gets one of them later. MariaDB had
// transaction_isolation as tx_isolation alone before 11.1.
func checkIsolation(ctx context.Context, db *sql.DB) error {
	for _, variable := range [...]string{"transaction_isolation", "tx_isolation"} {
		var level string
		err := db.QueryRowContext(ctx, "SELECT @@session."+variable).Scan(&level)
		if unknown, ok := errors.AsType[*driver.MySQLError](err); ok && unknown.Number == unknownSystemVariable {
			continue
		}
		if err != nil {
			return fmt.Errorf("ask for the isolation level: %w", err)
		}
		if strings.EqualFold(level, "READ-UNCOMMITTED") {
			return fmt.Errorf("these sessions are READ UNCOMMITTED, and would read what is rolled back: give the outbox a pool with %s='READ-COMMITTED' in its DSN; a transaction of your own may have any level", variable)
		}
		return nil
	}
	return nil
}

// checkBinaryLog: InnoDB refuses what READ COMMITTED writes where the log is of statements (1665). (MySQL manual, 7.4.4.2 "Setting
// The Binary Log Format".)
func checkBinaryLog(ctx context.Context, db *sql.DB) error {
	var on bool
	var format string
	err := db.QueryRowContext(ctx, "SELECT @@global.log_bin, @@session.binlog_format").Scan(&on, &format)
	if unknown, ok := errors.AsType[*driver.MySQLError](err); ok && unknown.Number == unknownSystemVariable {
		return nil // there is no choice
	}
	if err != nil {
		return fmt.Errorf("ask for the binary log's format: %w", err)
	}
	if on && strings.EqualFold(format, "STATEMENT") {
		return errors.New("binlog_format is STATEMENT, with which InnoDB takes no writes in READ COMMITTED, where a relay works: set it to ROW or MIXED")
	}
	return nil
}

// readOnlyVariables: super_read_only is MySQL's and turns read_only on with it; transaction_read_only was called
// tx_read_only before MySQL 8.0 and MariaDB 11.1.
var readOnlyVariables = [...]struct{ name, meaning string }{
	{"@@global.read_only", "the server is a replica or in a failover: connect to the primary"},
	{"@@global.innodb_read_only", "InnoDB was started read-only, as on an Aurora reader: connect to the writer"},
	{"@@session.transaction_read_only", "set by the server's configuration or the DSN: turn it off"},
	{"@@session.tx_read_only", "set by the server's configuration or the DSN: turn it off"},
}

// unknownSystemVariable is ER_UNKNOWN_SYSTEM_VARIABLE.
const unknownSystemVariable = 1193

func checkWritable(ctx context.Context, db *sql.DB) error {
	for _, variable := range readOnlyVariables {
		var value sql.NullString
		err := db.QueryRowContext(ctx, "SELECT "+variable.name).Scan(&value)
		if unknown, ok := errors.AsType[*driver.MySQLError](err); ok && unknown.Number == unknownSystemVariable {
			continue
		}
		if err != nil {
			return fmt.Errorf("ask for %s: %w", variable.name, err)
		}
		// A number on most servers; MariaDB 12 answers with words.
		if value.Valid && value.String != "0" && !strings.EqualFold(value.String, "OFF") {
			return fmt.Errorf("the database is read-only (%s is %s): %s", variable.name, value.String, variable.meaning)
		}
	}
	return nil
}
