package main

import (
	"context"
	"fmt"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqloutbox/sqloutbox/outbox"
)

type gormOrder struct {
	ID string `gorm:"primaryKey"`
}

func (gormOrder) TableName() string { return "orms_orders" }

// gormTx is the transaction that gorm holds, for outbox.Write: a *sql.Tx, or with PrepareStmt a wrapper round one.
// Outside a transaction gorm holds a *sql.DB, which does not fit, on purpose.
func gormTx(tx *gorm.DB) (outbox.Tx, error) {
	held, ok := tx.Statement.ConnPool.(outbox.Tx)
	if !ok {
		return nil, fmt.Errorf("gorm holds a %T: write inside of Transaction or after Begin", tx.Statement.ConnPool)
	}
	return held, nil
}

// The same with gorm.io/driver/mysql, which takes a Conn too. On SQLite without cgo, github.com/glebarez/sqlite can't be
// linked beside dialect/sqlite: its driver and modernc.org/sqlite both register the name "sqlite", and the program
// panics before main.
func placeWithGorm(ctx context.Context, s *shop, id string, before func() error) error {
	// Once a program. gorm and the outbox share the pool.
	g, err := gorm.Open(postgres.New(postgres.Config{Conn: s.db}), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	err = g.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&gormOrder{ID: id}).Error; err != nil {
			return err
		}
		held, err := gormTx(tx)
		if err != nil {
			return err
		}
		if _, err := s.o.Write(ctx, held, event(id)); err != nil {
			return err
		}
		return before()
	})
	if err != nil {
		return err
	}
	s.o.Wake() // a relay in this process need not wait for its next poll
	return nil
}
