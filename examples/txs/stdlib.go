package main

import "context"

// With database/sql the transaction is passed on as it is. (outbox.InTx saves the begin, the commit and the Wake.)
func placeWithStdlib(ctx context.Context, s *shop, id string, before func() error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if _, err := tx.ExecContext(ctx, s.d.Bind("INSERT INTO txs_orders (id) VALUES (?)"), id); err != nil {
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
	s.o.Wake() // a relay in this process need not wait for its next poll
	return nil
}
