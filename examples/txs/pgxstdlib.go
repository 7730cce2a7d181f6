package main

import (
	"context"
	"database/sql"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
)

// A pool that the host opened by itself, over pgx's driver for database/sql, is a pool like any other.
func placeWithPgxStdlib(ctx context.Context, s *shop, id string, before func() error) error {
	db, err := sql.Open("pgx", s.url) // once a program, of course, and not once an order
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "INSERT INTO txs_orders (id) VALUES ($1)", id); err != nil {
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
