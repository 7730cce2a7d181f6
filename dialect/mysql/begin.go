package mysql

import (
	"context"
	"database/sql"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/conntx"
)

func (mysql) Begin(ctx context.Context, db *sql.DB) (dialect.Tx, error) {
	tx, err := conntx.Begin(ctx, db, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION")
	if err != nil {
		return nil, err
	}
	return tx, nil
}
