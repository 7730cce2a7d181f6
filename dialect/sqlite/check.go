package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/server"
)

// Check refuses pools that are not SQLite's or older than 3.42, a database that lives in one connection of a pool that
// may have several, and a database that can't be written.
func (s sqlite) Check(ctx context.Context, db *sql.DB) error {
	kind, text, err := server.Identify(ctx, db)
	if err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	if kind != server.SQLite {
		return server.Mismatch("sqlite", kind, text)
	}
	if err := checkVersion(text); err != nil {
		return err
	}
	if err := checkShared(ctx, db); err != nil {
		return err
	}
	return s.checkWritable(ctx, db)
}

func checkVersion(text string) error {
	var major, minor int
	if _, err := fmt.Sscanf(text, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("read the version %q: %w", text, err)
	}
	if major < 3 || major == 3 && minor < 42 {
		return fmt.Errorf("SQLite is too old: 3.42 or later is needed for unixepoch('subsec'), this is %s", text)
	}
	return nil
}

// checkShared: a database without a file (":memory:") is a new one for each connection.
func checkShared(ctx context.Context, db *sql.DB) error {
	if db.Stats().MaxOpenConnections == 1 {
		return nil
	}
	var file string
	const fileSQL = "SELECT file FROM pragma_database_list WHERE name = 'main'"
	if err := db.QueryRowContext(ctx, fileSQL).Scan(&file); err != nil {
		return fmt.Errorf("ask for the file: %w", err)
	}
	if file == "" {
		return errors.New("the database is in memory and each connection has one of its own: use a file, or call SetMaxOpenConns(1)")
	}
	return nil
}

// checkWritable takes the write lock and gives it back. A lock that others hold proves as much.
func (s sqlite) checkWritable(ctx context.Context, db *sql.DB) error {
	var queryOnly bool
	if err := db.QueryRowContext(ctx, "PRAGMA query_only").Scan(&queryOnly); err != nil {
		return fmt.Errorf("ask for query_only: %w", err)
	}
	if queryOnly {
		return errors.New("the database is read-only: the DSN sets query_only")
	}
	tx, err := s.Begin(ctx, db)
	if err == nil {
		err = tx.Rollback()
	}
	switch s.Classify(err) {
	case dialect.Conflict:
		return nil
	case dialect.ReadOnly:
		return fmt.Errorf("the database is read-only: check the DSN and the permissions of the file and its directory: %w", err)
	}
	if err != nil {
		return fmt.Errorf("take the write lock: %w", err)
	}
	return nil
}
