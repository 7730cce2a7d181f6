// Package tally adds to numbers that outlive the process that counts them: rows of the counters table.
package tally

import (
	"context"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
)

// Names of the counters.
const (
	Drained = "drained" // outcomes that relays recorded, and when the last
	Refused = "refused" // outcomes that a relay came to record when it no longer owned what it had in hand
	Resumed = "resumed" // pauses that ended, and when the last: Health does not count a pause as silence
)

// By primary key.
const (
	insert = `INSERT INTO {counters} (name) VALUES (?){ignore_name}`
	add    = `UPDATE {counters} SET value = value + ?, at_ms = {clock} WHERE name = ?`
)

// Add adds n to a counter, and notes when.
func Add(ctx context.Context, tx dialect.Execer, r *sqltext.Renderer, name string, n int64) error {
	changed, err := rows.Exec(ctx, tx, r.SQL(add), n, name)
	if err != nil || changed > 0 {
		return err
	}
	if _, err := rows.Exec(ctx, tx, r.SQL(insert), name); err != nil {
		return err
	}
	_, err = rows.Exec(ctx, tx, r.SQL(add), n, name)
	return err
}
