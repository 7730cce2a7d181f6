package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/sqloutbox/sqloutbox/internal/server"
)

// minVersion is server_version_num of PostgreSQL 11, the first with the setting jit. Identity columns came with 10, SKIP
// LOCKED with 9.5.
const minVersion = 110000

// stateSQL: transaction_read_only is on for a standby as well as for a session whose default it is.
const stateSQL = `
SELECT current_setting('server_version_num')::BIGINT,
       pg_is_in_recovery(),
       current_setting('transaction_read_only') = 'on',
       current_setting('server_encoding'),
       current_setting('client_encoding')`

// Check refuses servers that are not PostgreSQL or older than 11, standbys, sessions that are read-only, and encodings that
// lack characters: an error's text with one of them could not be recorded, however often that is tried.
func (p postgres) Check(ctx context.Context, db *sql.DB) error {
	kind, text, err := server.Identify(ctx, db, p.Classify)
	if err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	if kind != server.PostgreSQL {
		return server.Mismatch("postgres", kind, text)
	}
	var number int64
	var standby, readOnly bool
	var database, session string
	if err := db.QueryRowContext(ctx, stateSQL).Scan(&number, &standby, &readOnly, &database, &session); err != nil {
		return fmt.Errorf("ask for the server's state: %w", err)
	}
	switch {
	case number < minVersion:
		return fmt.Errorf("the server is too old: PostgreSQL 11 or later is needed for its settings of the planner, identity columns and SKIP LOCKED, this is %s", text)
	case standby:
		return errors.New("the server is a read-only standby: connect to the primary")
	case readOnly:
		return errors.New("the session is read-only: default_transaction_read_only is on for the database, the role or the DSN")
	case !takesUTF8(database):
		return fmt.Errorf("the database's encoding is %s, which not every text can be converted to: use a database that was made with ENCODING 'UTF8'", database)
	case !takesUTF8(session):
		return fmt.Errorf("the session's client_encoding is %s, and all text here is UTF-8: set client_encoding to UTF8 for the database, the role or in the DSN", session)
	}
	return nil
}

// takesUTF8: with SQL_ASCII nothing is converted. (PostgreSQL manual, 24.3 "Character Set Support".)
// UNICODE is an old name of UTF8, which a session keeps as it was given.
func takesUTF8(encoding string) bool {
	return slices.Contains([]string{"UTF8", "UNICODE", "SQL_ASCII"}, encoding)
}
