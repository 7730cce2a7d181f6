package postgres

import (
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Open makes a pool from a URL ("postgres://user:password@host:5432/db?sslmode=disable") or a keyword string
// ("host=… dbname=…"). Nothing is added to what the DSN says, and no connection is made yet. Behind a transaction
// pooler that does not keep prepared statements, put default_query_exec_mode=exec in the DSN.
func Open(dsn string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	return stdlib.OpenDB(*config), nil
}
