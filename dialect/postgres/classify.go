package postgres

import (
	"errors"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/lost"
)

// Classify goes by SQLSTATE where the server answered (PostgreSQL manual, appendix A), and by the kind of the error
// where it did not. A cancelled or expired context is Other: the caller knows about it.
func (postgres) Classify(err error) dialect.Class {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		if pg.Code == uniqueViolation && primaryKey.MatchString(pg.ConstraintName) {
			return dialect.KeyTaken
		}
		return classOfState(pg.Code)
	}
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return dialect.Aborted
	}
	// Before the context's errors, since connect_timeout in the DSN shows up as an expired context too.
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return dialect.Disconnected
	}
	if lost.Connection(err, pgconn.ErrConnClosed) {
		return dialect.Disconnected
	}
	return dialect.Other
}

const uniqueViolation = "23505"

// primaryKey matches the name that PostgreSQL gives to the constraint of a primary key, by itself and in our tables: that
// of the table and "_pkey", with a number behind it if an older table has left that name taken. The name is a field of its
// own of the server's answer (manual, 55.8 "Error and Notice Message Fields").
var primaryKey = regexp.MustCompile(`_pkey[0-9]*$`)

func classOfState(code string) dialect.Class {
	switch code {
	case uniqueViolation:
		return dialect.Duplicate
	case "40001", // serialization_failure
		"40P01", // deadlock_detected
		"55P03", // lock_not_available: lock_timeout
		"57014": // query_canceled: statement_timeout
		return dialect.Conflict
	case "57P01", // admin_shutdown: also pg_terminate_backend
		"57P02", // crash_shutdown
		"57P03", // cannot_connect_now: starting up or shutting down
		"57P05", // idle_session_timeout
		"25P03", // idle_in_transaction_session_timeout: the session is ended
		"25P04", // transaction_timeout: the session is ended
		"53300": // too_many_connections
		return dialect.Disconnected
	case "25006": // read_only_sql_transaction: a standby, or default_transaction_read_only
		return dialect.ReadOnly
	case "42P01", // undefined_table
		"42703", // undefined_column
		"3F000": // invalid_schema_name
		return dialect.SchemaMissing
	case "25P02": // in_failed_sql_transaction
		return dialect.Aborted
	}
	if strings.HasPrefix(code, "08") { // connection_exception
		return dialect.Disconnected
	}
	return dialect.Other
}
