package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// SeqBehind need not ask: the next rowid is past that of every row that is or was there, whatever sqlite_sequence says.
// (sqlite.org/autoinc.html)
func (sqlite) SeqBehind(context.Context, *sql.DB, string) (string, error) { return "", nil }

// A handful of rows each. There is no sqlite_sequence before the first table with AUTOINCREMENT is made.
const (
	hasSequences = `SELECT COUNT(*) FROM sqlite_schema WHERE name = 'sqlite_sequence'`
	tableName    = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE`
	lastNumber   = `SELECT MAX(COALESCE((SELECT seq FROM sqlite_sequence WHERE name = '%[1]s'), 0), COALESCE((SELECT MAX(seq) FROM %[1]s), 0))`

	// One statement, whether the row is there or not, and never backwards: the rowid is its key.
	setNumber = `REPLACE INTO sqlite_sequence (rowid, name, seq) SELECT ` +
		`(SELECT rowid FROM sqlite_sequence WHERE name = '%[1]s'), '%[1]s', MAX(%[2]d, COALESCE((SELECT seq FROM sqlite_sequence WHERE name = '%[1]s'), 0))`
)

// SeqBelow looks into sqlite_sequence, which an application may write as any other table. (sqlite.org/autoinc.html)
func (sqlite) SeqBelow(ctx context.Context, db *sql.DB, table string, floor int64) (mend string, err error) {
	if floor <= 0 {
		return "", nil
	}
	var sequences int
	if err := db.QueryRowContext(ctx, hasSequences).Scan(&sequences); err != nil {
		return "", fmt.Errorf("look for sqlite_sequence: %w", err)
	}
	var name string
	switch err := db.QueryRowContext(ctx, tableName, table).Scan(&name); {
	case errors.Is(err, sql.ErrNoRows) || err == nil && sequences == 0:
		return "", nil
	case err != nil:
		return "", fmt.Errorf("look for %s: %w", table, err)
	}
	var last int64
	if err := db.QueryRowContext(ctx, fmt.Sprintf(lastNumber, name)).Scan(&last); err != nil {
		return "", fmt.Errorf("ask for the last number of %s: %w", table, err)
	}
	if last >= floor {
		return "", nil
	}
	return fmt.Sprintf(setNumber, name, floor), nil
}
