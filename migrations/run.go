package migrations

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// up takes all steps that are missing. It may fail because another process takes the same step at the same time;
// persist then calls it again. Where nothing is missing it only reads, so that an account without the right to make
// tables may call it.
func (m *migrator) up(ctx context.Context) error {
	applied, _, err := m.versions(ctx)
	if err != nil {
		return err
	}
	if len(m.files.missing(applied)) > 0 {
		if err := m.applyMissing(ctx); err != nil {
			return err
		}
	}
	err = m.check(ctx)
	if errors.Is(err, ErrSchemaAhead) && !errors.Is(err, ErrSchemaDamaged) {
		return nil
	}
	return err
}

func (m *migrator) applyMissing(ctx context.Context) error {
	if err := m.d.Check(ctx, m.db); err != nil {
		return fmt.Errorf("check database: %w", err)
	}
	if err := m.ensureSchema(ctx); err != nil {
		return err
	}
	if err := m.ensureVersions(ctx); err != nil {
		return err
	}
	provider, err := m.provider()
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

func (m *migrator) down(ctx context.Context) error {
	applied, versioned, err := m.versions(ctx)
	if err != nil {
		return err
	}
	if !versioned {
		_, none, err := m.lacks(ctx)
		if err != nil {
			return err
		}
		if !none {
			return fmt.Errorf("%w: drop them with the tool that made them", ErrSchemaUnversioned)
		}
		return nil
	}
	if len(applied) > 0 && slices.Max(applied) > m.files.latest() {
		return fmt.Errorf("%w: it is at %d, the library at %d", ErrSchemaAhead, slices.Max(applied), m.files.latest())
	}
	if err := m.ensureVersions(ctx); err != nil {
		return err
	}
	provider, err := m.provider()
	if err != nil {
		return err
	}
	if _, err := provider.DownTo(ctx, 0); err != nil {
		return err
	}
	if _, err := m.db.ExecContext(ctx, fmt.Sprintf(dropTableSQL, m.names.table(versionTable))); err != nil {
		return fmt.Errorf("drop the version table: %w", err)
	}
	return nil
}

// provider is goose on this database, reading nothing that is global to goose. It takes one connection at a time and
// no lock: its lockers want a second connection or a session of their own, which a pool of one and a transaction
// pooler don't give.
func (m *migrator) provider() (*goose.Provider, error) {
	engine := map[string]database.Dialect{
		"postgres": database.DialectPostgres,
		"mysql":    database.DialectMySQL,
		"sqlite":   database.DialectSQLite3,
	}[m.d.Name()]
	versions, err := database.NewStore(engine, m.names.table(versionTable))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectCustom, m.db, m.files,
		goose.WithStore(store{versions}),
		goose.WithDisableGlobalRegistry(true),
		goose.WithVerbose(false),
	)
}

const (
	schemaExistsSQL = `SELECT COUNT(*) FROM pg_namespace WHERE oid = to_regnamespace(?)`
	createSchemaSQL = `CREATE SCHEMA IF NOT EXISTS %s`
)

// ensureSchema makes the PostgreSQL schema. It looks first, since CREATE SCHEMA IF NOT EXISTS needs the right to make
// one even where it exists.
func (m *migrator) ensureSchema(ctx context.Context) error {
	if m.names.schema == "" {
		return nil
	}
	var count int
	if err := m.db.QueryRowContext(ctx, m.d.Bind(schemaExistsSQL), m.names.schema).Scan(&count); err != nil {
		return fmt.Errorf("look up schema %s: %w", m.names.schema, err)
	}
	if count > 0 {
		return nil
	}
	if _, err := m.db.ExecContext(ctx, fmt.Sprintf(createSchemaSQL, m.names.schema)); err != nil {
		return fmt.Errorf("create schema %s: %w", m.names.schema, err)
	}
	return nil
}
