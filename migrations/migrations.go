// Package migrations makes the outbox's tables and tells whether they are what this version of the library needs.
//
// The files are plain goose migrations, a folder an engine, and run as they are with the goose command:
//
//	goose -table outbox_migrations -dir migrations/postgres postgres "$DSN" up
//
// In goose's own table, goose_db_version, the numbers would be mixed up with those of the host's migrations.
// Up does the same from Go, with a version table of the outbox's own (outbox_migrations), so that the host's
// migrations are not touched. Hosts with another tool take the statements from SQL and let Check compare. Within a
// major version migrations only add, and everything added has a default: old and new programs run side by side.
package migrations

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Up brings the tables to this library's version, in as many steps as are missing, and checks the result. Each file is
// one statement that can be run again, so an Up that failed or was killed half-way is simply run again, and any number
// of processes may call it at once. On a schema that is newer than this library it changes nothing and succeeds. Before
// its first change it asks the dialect's Check whether the server will do; where nothing is missing it only reads. It
// needs one connection. A PostgreSQL schema that Options name is created if it doesn't exist.
func Up(ctx context.Context, db *sql.DB, d dialect.Dialect, opts *Options) error {
	m, err := newMigrator(db, d, opts)
	if err != nil {
		return fmt.Errorf("migrate up: %w", err)
	}
	if err := m.persist(ctx, m.up); err != nil {
		return fmt.Errorf("migrate up: %w", err)
	}
	return nil
}

// Down drops every table of the outbox with all that is in it, and the version table last. It undoes what Up did and
// refuses tables without a version table (ErrSchemaUnversioned) or with a newer one (ErrSchemaAhead). Where there is
// nothing it does nothing. A PostgreSQL schema stays.
func Down(ctx context.Context, db *sql.DB, d dialect.Dialect, opts *Options) error {
	m, err := newMigrator(db, d, opts)
	if err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	if err := m.persist(ctx, m.down); err != nil {
		return fmt.Errorf("migrate down: %w", err)
	}
	return nil
}

// migrator is one call's view of one database.
type migrator struct {
	db    *sql.DB
	d     dialect.Dialect
	names names
	files *files
}

func newMigrator(db *sql.DB, d dialect.Dialect, opts *Options) (*migrator, error) {
	if db == nil || d == nil {
		return nil, fmt.Errorf("%w: the database and the dialect must not be nil", ErrInvalidOptions)
	}
	o := opts.withDefaults()
	if err := o.validate(d.Name()); err != nil {
		return nil, err
	}
	n := names{prefix: o.Prefix, schema: o.Schema}
	f, err := filesOf(d.Name(), n)
	if err != nil {
		return nil, err
	}
	return &migrator{db: db, d: d, names: n, files: f}, nil
}
