package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/internal/server"
)

// minVersion is server_version_num of PostgreSQL 11, the first with the setting jit. Identity columns came with 10, SKIP
// LOCKED with 9.5.
const minVersion = 110000

// stateSQL: transaction_read_only is on for a standby as well as for a session whose default it is.
const stateSQL = `
SELECT current_setting('server_version_num')::BIGINT,
       pg_is_in_recovery(),
       current_setting('transaction_read_only') = 'on'`

// Check refuses servers that are not PostgreSQL or older than 11, standbys, and sessions that are read-only.
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
	if err := db.QueryRowContext(ctx, stateSQL).Scan(&number, &standby, &readOnly); err != nil {
		return fmt.Errorf("ask for the server's state: %w", err)
	}
	switch {
	case number < minVersion:
		return fmt.Errorf("the server is too old: PostgreSQL 11 or later is needed for its settings of the planner, identity columns and SKIP LOCKED, this is %s", text)
	case standby:
		return errors.New("the server is a read-only standby: connect to the primary")
	case readOnly:
		return errors.New("the session is read-only: default_transaction_read_only is on for the database, the role or the DSN")
	}
	return nil
}
