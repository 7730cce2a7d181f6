// Package mysql is the dialect of MySQL 8.0.16 and later and of MariaDB 10.6 and later, over go-sql-driver/mysql.
//
// A pool made by Open or by sql.Open("mysql", …) will do; errors are understood if they are the driver's.
package mysql

import (
	"context"
	"errors"

	driver "github.com/go-sql-driver/mysql"

	"github.com/sqloutbox/sqloutbox/dialect"
)

type mysql struct{}

// New is the dialect. It has no state: one may serve any number of pools.
func New() dialect.Dialect { return mysql{} }

func (mysql) Name() string { return "mysql" }

// Bind changes nothing: "?" is MySQL's own placeholder.
func (mysql) Bind(query string) string { return query }

// Clock counts from UTC_TIMESTAMP, which no session time zone touches. The usual UNIX_TIMESTAMP(NOW(3)) goes through
// local time and jumps back by an hour when summer time ends.
func (mysql) Clock() string {
	return "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)"
}

func (mysql) Lock() string     { return " FOR UPDATE" }
func (mysql) LockSkip() string { return " FOR UPDATE SKIP LOCKED" }

// IgnoreDuplicate sets a column to itself. INSERT IGNORE would also hide values that are cut or out of range. It can't
// name the key, and need not: see SeqBehind.
func (mysql) IgnoreDuplicate(column string) string {
	return " ON DUPLICATE KEY UPDATE " + column + " = " + column
}

// CountFirst: a row that is there and is changed counts as two, with CLIENT_FOUND_ROWS (clientFoundRows in the DSN) or
// without; one that is set to what it is would count as one with it. (MySQL manual, 15.2.7.2 "INSERT ... ON DUPLICATE KEY
// UPDATE Statement"; MariaDB, "INSERT ON DUPLICATE KEY UPDATE".)
func (mysql) CountFirst(_, version string) string {
	return " ON DUPLICATE KEY UPDATE " + version + " = " + version + " + 1"
}

// IndexHint: without fresh statistics MySQL walks the primary key when most rows are published.
func (mysql) IndexHint(index string) string { return " FORCE INDEX (" + index + ")" }

// cantChangeCharacteristics is ER_CANT_CHANGE_TX_CHARACTERISTICS: "Transaction characteristics can't be changed while a
// transaction is in progress".
const cantChangeCharacteristics = 1568

// InTransaction asks with a statement that is refused inside a transaction. A deadlock (1213) rolls the whole
// transaction back, and what follows would run by itself. Outside of one the statement sets the access mode of the
// session's next transaction to what it is by default, read and write.
func (mysql) InTransaction(ctx context.Context, e dialect.Execer) (bool, error) {
	_, err := e.ExecContext(ctx, "SET TRANSACTION READ WRITE")
	if err == nil {
		return false, nil
	}
	if refused, ok := errors.AsType[*driver.MySQLError](err); ok && refused.Number == cantChangeCharacteristics {
		return true, nil
	}
	return false, err
}

// dataOutOfRange is ER_DATA_OUT_OF_RANGE, an error in every sql_mode.
const dataOutOfRange = 1690

// HasGuard: MariaDB has a variable that says whether a transaction is open, and MySQL has none. (MariaDB, "Server System
// Variables", in_transaction.) Where sessions don't commit by themselves, an INSERT opens a transaction before its values are
// computed, and would always find one.
func (mysql) HasGuard(ctx context.Context, e dialect.Execer) (bool, error) {
	_, err := e.ExecContext(ctx, "SELECT "+guard("0"))
	if answer, ok := errors.AsType[*driver.MySQLError](err); ok && (answer.Number == unknownSystemVariable || answer.Number == dataOutOfRange) {
		return false, nil
	}
	return err == nil, err
}

// Guard is out of range where no transaction is open, and in a session that does not commit by itself.
func (mysql) Guard(value string) string { return guard(value) }

func guard(value string) string {
	return "IF(@@in_transaction AND @@autocommit, " + value + ", ~0 + 1)"
}

// OutsideTx: none of the library's values is out of range but that of Guard.
func (mysql) OutsideTx(err error) bool {
	refused, ok := errors.AsType[*driver.MySQLError](err)
	return ok && refused.Number == dataOutOfRange
}

// UpdateByKey and DeleteByKey: without the hint MariaDB scans a small table, and locks or waits for every row in it,
// among them those of the host's open transactions. A DELETE takes a hint only in its multiple-table form. (MySQL
// manual, 10.9.4 "Index Hints", 15.2.2 "DELETE Statement".)
func (mysql) UpdateByKey(table string) string { return "UPDATE " + table + " FORCE INDEX (PRIMARY)" }
func (mysql) DeleteByKey(table string) string {
	return "DELETE " + table + " FROM " + table + " FORCE INDEX (PRIMARY)"
}
