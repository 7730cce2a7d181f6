package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// Check compares the database with what this version of the library needs: tables, columns and indexes, and the
// version table where there is one. It writes nothing. The answer is nil, or one of ErrSchemaMissing, ErrSchemaBehind,
// ErrSchemaAhead and ErrSchemaDamaged with the particulars, or the driver's error, wrapped.
func Check(ctx context.Context, db *sql.DB, d dialect.Dialect, opts *Options) error {
	m, err := newMigrator(db, d, opts)
	if err != nil {
		return fmt.Errorf("check schema: %w", err)
	}
	if err := m.check(ctx); err != nil {
		return fmt.Errorf("check schema: %w", err)
	}
	return nil
}

func (m *migrator) check(ctx context.Context) error {
	lacks, none, err := m.lacks(ctx)
	if err != nil {
		return err
	}
	applied, versioned, err := m.versions(ctx)
	if err != nil {
		return err
	}
	lacking := strings.Join(lacks, ", ")
	missing := m.files.missing(applied)
	ahead := versioned && len(applied) > 0 && slices.Max(applied) > m.files.latest()
	switch {
	case none && len(missing) > 0:
		return fmt.Errorf("%w: there is no %s: run migrations.Up", ErrSchemaMissing, lacking)
	case ahead && lacking != "":
		return fmt.Errorf("%w, and %w: there is no %s: use a newer version of the library", ErrSchemaAhead, ErrSchemaDamaged, lacking)
	case ahead:
		return fmt.Errorf("%w: it is at %d, the library at %d", ErrSchemaAhead, slices.Max(applied), m.files.latest())
	case versioned && len(missing) > 0:
		return fmt.Errorf("%w: %s not applied: run migrations.Up", ErrSchemaBehind, describe(missing))
	case versioned && lacking != "":
		return fmt.Errorf("%w: all migrations are noted as applied, but there is no %s", ErrSchemaDamaged, lacking)
	case lacking != "":
		return fmt.Errorf("%w: there is no %s: run migrations.Up, or the statements of migrations.SQL", ErrSchemaBehind, lacking)
	}
	return nil
}

func describe(missing []file) string {
	list := make([]string, len(missing))
	for i, m := range missing {
		list[i] = m.name
	}
	return strings.Join(list, ", ")
}
