package main

import (
	"context"

	"github.com/jmoiron/sqlx"
)

// A *sqlx.Tx is passed on as it is too.
func placeWithSqlx(ctx context.Context, s *shop, id string, before func() error) error {
	// sqlx chooses its placeholders by the driver's name, and "pgx", "mysql" and "sqlite3" are among those it knows.
	driver := map[string]string{"postgres": "pgx", "mysql": "mysql", "sqlite": "sqlite3"}[s.d.Name()]
	tx, err := sqlx.NewDb(s.db, driver).BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.NamedExecContext(ctx, "INSERT INTO txs_orders (id) VALUES (:id)", map[string]any{"id": id}); err != nil {
		return err
	}
	if _, err := s.o.Write(ctx, tx, event(id)); err != nil {
		return err
	}
	if err := before(); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	s.o.Wake()
	return nil
}
