package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/sqloutbox/sqloutbox/dialect/postgres"
)

// A transaction of pgx itself has other methods than one of database/sql: postgres.WrapTx lends it those. The outbox's
// own pool stays one of database/sql; for writing it isn't touched.
func placeWithPgx(ctx context.Context, s *shop, id string, before func() error) error {
	pool, err := pgxpool.New(ctx, s.url) // once a program
	if err != nil {
		return err
	}
	defer pool.Close()
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { // commits, or rolls back if the function returns an error
		if _, err := tx.Exec(ctx, "INSERT INTO txs_orders (id) VALUES ($1)", id); err != nil {
			return err
		}
		if _, err := s.o.Write(ctx, postgres.WrapTx(tx), event(id)); err != nil {
			return err
		}
		return before()
	})
	if err != nil {
		return err
	}
	s.o.Wake()
	return nil
}
