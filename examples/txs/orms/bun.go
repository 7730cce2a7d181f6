package main

import (
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
)

type bunOrder struct {
	bun.BaseModel `bun:"table:orms_orders"`

	ID string `bun:",pk"`
}

func placeWithBun(ctx context.Context, s *shop, id string, before func() error) error {
	var d schema.Dialect = sqlitedialect.New()
	if s.d.Name() == "postgres" {
		d = pgdialect.New()
	}
	b := bun.NewDB(s.db, d) // once a program; bun and the outbox share the pool
	err := b.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewInsert().Model(&bunOrder{ID: id}).Exec(ctx); err != nil {
			return err
		}
		// tx.Tx, the *sql.Tx inside. bun.Tx itself would compile, but it writes arguments into the text by itself, in
		// place of "?" and never of "$1", so that on PostgreSQL they are not sent at all.
		if _, err := s.o.Write(ctx, tx.Tx, event(id)); err != nil {
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
