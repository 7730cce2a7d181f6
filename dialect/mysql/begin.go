package mysql

import (
	"context"
	"database/sql"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/conntx"
)

func (m mysql) Begin(ctx context.Context, db *sql.DB) (dialect.Tx, error) {
	tx, err := conntx.Begin(ctx, db, m.Classify, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION")
	if err != nil {
		return nil, err
	}
	return tx, nil
}
