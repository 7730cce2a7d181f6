package postgres

import (
	"context"
	"database/sql"
	"fmt"
)

// ownSequence is the sequence behind seq, quoted as SQL wants it, or NULL where somebody has made the table without one.
// A role that writes events needs no rights on it: identity columns don't ask.
const ownSequence = `
SELECT s, COALESCE(has_sequence_privilege(s, 'SELECT'), FALSE)
FROM pg_get_serial_sequence($1, 'seq') AS s`

// behind compares the highest seq, one look at the end of the primary key, or a floor above that, with what the sequence
// gave last, or would give first. A sequence belongs to no snapshot: it is read as it is now, and the rows as they were when the statement
// began, so whatever is inserted meanwhile can only make the sequence look further ahead. pg_sequences would not do,
// since it is NULL where setval(…, false) has been called.
const behind = `
SELECT COALESCE(top.seq > s.last_value OR top.seq = s.last_value AND NOT s.is_called, FALSE)
FROM %s AS s, (SELECT GREATEST(MAX(seq), %d) AS seq FROM %s) AS top`

// SeqBehind compares the identity column's sequence with the rows. What copies rows copies no sequence: INSERTs that name
// their seq, and logical replication. A role without SELECT on the sequence is told that all is well. (PostgreSQL manual,
// 9.17 "Sequence Manipulation Functions"; "Restrictions" of chapter "Logical Replication".)
func (p postgres) SeqBehind(ctx context.Context, db *sql.DB, table string) (mend string, err error) {
	return p.SeqBelow(ctx, db, table, 0)
}

// SeqBelow compares the sequence with the rows and the floor.
func (postgres) SeqBelow(ctx context.Context, db *sql.DB, table string, floor int64) (mend string, err error) {
	var sequence sql.NullString
	var readable bool
	if err := db.QueryRowContext(ctx, ownSequence, table).Scan(&sequence, &readable); err != nil {
		return "", fmt.Errorf("ask for the sequence of %s: %w", table, err)
	}
	if !readable {
		return "", nil
	}
	var isBehind bool
	if err := db.QueryRowContext(ctx, fmt.Sprintf(behind, sequence.String, floor, table)).Scan(&isBehind); err != nil {
		return "", fmt.Errorf("compare %s with %s: %w", sequence.String, table, err)
	}
	if !isBehind {
		return "", nil
	}
	top := fmt.Sprintf("(SELECT MAX(seq) FROM %s)", table)
	if floor > 0 {
		top = fmt.Sprintf("GREATEST(%d, %s)", floor, top) // that leaves NULL out
	}
	return fmt.Sprintf("SELECT setval(pg_get_serial_sequence('%s', 'seq'), %s)", table, top), nil
}
