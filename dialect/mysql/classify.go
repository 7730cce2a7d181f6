package mysql

import (
	"errors"
	"net"

	driver "github.com/go-sql-driver/mysql"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/lost"
)

// Classify goes by the server's error number where it answered (MySQL and MariaDB error references), and by the kind
// of the error where it did not. A cancelled or expired context is Other: the caller knows about it.
func (mysql) Classify(err error) dialect.Class {
	if answer, ok := errors.AsType[*driver.MySQLError](err); ok {
		return classOfNumber(answer.Number)
	}
	// Before the context's errors, since a dial that the DSN's timeout ends shows up as an expired context too.
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return dialect.Disconnected
	}
	if lost.Connection(err, driver.ErrInvalidConn) {
		return dialect.Disconnected
	}
	return dialect.Other
}

func classOfNumber(number uint16) dialect.Class {
	switch number {
	case 1062: // ER_DUP_ENTRY; which key it is stands in the message only (see SeqBehind)
		return dialect.Duplicate
	case 1213, // ER_LOCK_DEADLOCK; on Galera also a conflict found at COMMIT
		1205, // ER_LOCK_WAIT_TIMEOUT
		1020, // ER_CHECKREAD: MariaDB's innodb_snapshot_isolation
		1317, // ER_QUERY_INTERRUPTED: KILL QUERY
		1969, // ER_STATEMENT_TIMEOUT: MariaDB's max_statement_time
		3024, // ER_QUERY_TIMEOUT: MySQL's max_execution_time
		3101: // ER_TRANSACTION_ROLLBACK_DURING_COMMIT: group replication
		return dialect.Conflict
	case 1040, // ER_CON_COUNT_ERROR: too many connections
		1042, // ER_BAD_HOST_ERROR
		1043, // ER_HANDSHAKE_ERROR
		1047, // ER_UNKNOWN_COM_ERROR: what a Galera node says to everything while it is not in the cluster
		1053, // ER_SERVER_SHUTDOWN
		1203, // ER_TOO_MANY_USER_CONNECTIONS
		1927, // ER_CONNECTION_KILLED (MariaDB)
		2006, // CR_SERVER_GONE_ERROR, passed on by proxies
		2013, // CR_SERVER_LOST, passed on by proxies
		3169, // ER_SESSION_WAS_KILLED
		4031: // ER_CLIENT_INTERACTION_TIMEOUT: wait_timeout, since MySQL 8.0.24
		return dialect.Disconnected
	case 1290, // ER_OPTION_PREVENTS_STATEMENT: read_only, super_read_only
		1792, // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
		1836, // ER_READ_ONLY_MODE
		1874, // ER_INNODB_READ_ONLY
		3100, // ER_RUN_HOOK_ERROR: a group replication member that may not write
		3989: // ER_SCHEMA_READ_ONLY: ALTER DATABASE … READ ONLY = 1
		return dialect.ReadOnly
	case 1146, // ER_NO_SUCH_TABLE
		1054, // ER_BAD_FIELD_ERROR
		1176: // ER_KEY_DOES_NOT_EXITS: the index that a hint names
		return dialect.SchemaMissing
	}
	return dialect.Other
}
