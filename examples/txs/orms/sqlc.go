package main

import (
	"context"
	"database/sql"

	"github.com/sqloutbox/sqloutbox/examples/txs/orms/sqlcdb"
)

// sqlc's Queries take a *sql.Tx through WithTx, and outbox.Write takes the same one. InTx begins and ends it.
func placeWithSqlc(ctx context.Context, s *shop, id string, before func() error) error {
	queries := sqlcdb.New(s.db) // once a program
	return s.o.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := queries.WithTx(tx).CreateOrder(ctx, id); err != nil {
			return err
		}
		if _, err := s.o.Write(ctx, tx, event(id)); err != nil {
			return err
		}
		return before()
	})
}
