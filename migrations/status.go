package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Step is one migration and whether it was applied.
type Step struct {
	Version int64
	Name    string // the file's name; empty for a migration of a newer library
	Applied bool
}

// Status lists this library's migrations, and after them those that a newer one has applied. It writes nothing. Where
// there is no version table, as when another tool made the tables, no step counts as applied.
func Status(ctx context.Context, db *sql.DB, d dialect.Dialect, opts *Options) ([]Step, error) {
	m, err := newMigrator(db, d, opts)
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	applied, _, err := m.versions(ctx)
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	var steps []Step
	for _, f := range m.files.list {
		steps = append(steps, Step{Version: f.version, Name: f.name, Applied: slices.Contains(applied, f.version)})
	}
	for _, version := range applied {
		if version > m.files.latest() {
			steps = append(steps, Step{Version: version, Applied: true})
		}
	}
	return steps, nil
}
