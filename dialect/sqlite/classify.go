package sqlite

import (
	"database/sql"
	"database/sql/driver"
	"errors"

	driversqlite "modernc.org/sqlite"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Result codes (sqlite.org/rescode.html). The low byte is the primary code, the rest says more.
const (
	sqliteError     = 1
	sqliteBusy      = 5
	sqliteLocked    = 6
	sqliteReadOnly  = 8
	sqliteInterrupt = 9
	sqliteIOErr     = 10
	sqliteCantOpen  = 14
	sqliteProtocol  = 15
	sqliteSchema    = 17

	sqliteAbortRollback        = 4 | 2<<8
	sqliteConstraintPrimaryKey = 19 | 6<<8
	sqliteConstraintUnique     = 19 | 8<<8
	sqliteConstraintRowID      = 19 | 10<<8
)

// code is the extended result code of err, or 0 if SQLite didn't answer.
func code(err error) int {
	if answer, ok := errors.AsType[*driversqlite.Error](err); ok {
		return answer.Code()
	}
	return 0
}

// Classify goes by result codes. It never answers SchemaMissing: "no such table" is SQLITE_ERROR, as is every fault in
// a statement's text, and only the message tells them apart. A cancelled or expired context is Other: the caller knows
// about it.
func (sqlite) Classify(err error) dialect.Class {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return dialect.Disconnected
	}
	switch c := code(err); c {
	case sqliteConstraintUnique:
		return dialect.Duplicate
	case sqliteConstraintPrimaryKey, sqliteConstraintRowID:
		return dialect.KeyTaken
	case sqliteAbortRollback:
		return dialect.Conflict
	default:
		return classOfPrimary(c & 0xff)
	}
}

func classOfPrimary(primary int) dialect.Class {
	switch primary {
	case sqliteBusy, // also BUSY_SNAPSHOT (517), which no time-out helps against
		sqliteLocked,    // a shared cache
		sqliteProtocol,  // too many processes opening the WAL at once
		sqliteSchema,    // the tables changed faster than the statement could be prepared again
		sqliteInterrupt: // sqlite3_interrupt by the host; a cancelled context gives the context's error
		return dialect.Conflict
	case sqliteReadOnly:
		return dialect.ReadOnly
	case sqliteIOErr, // the disk; SQLite rolls back what was under way, if not at once then when the file is next opened
		sqliteCantOpen: // the file or its directory
		return dialect.Disconnected
	}
	return dialect.Other
}
