package engines

import (
	"context"
	"database/sql"
	"fmt"
)

// sqlite is always there: it is a library that is linked in.
func sqlite(ctx context.Context) (*Engine, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, fmt.Errorf("bring up sqlite: %w", err)
	}
	defer db.Close()
	e := &Engine{Name: "sqlite", Found: "linked in"}
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&e.Version); err != nil {
		return nil, fmt.Errorf("bring up sqlite: %w", err)
	}
	return e, nil
}
