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
// may have several, one whose text is UTF-16, and one that can't be written.
func (s sqlite) Check(ctx context.Context, db *sql.DB) error {
	kind, text, err := server.Identify(ctx, db, s.Classify)
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
	if err := checkEncoding(ctx, db); err != nil {
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

// checkEncoding: the tables' limits count bytes, and in UTF-16 most text has twice as many. An encoding is for good.
// (sqlite.org/pragma.html#pragma_encoding)
func checkEncoding(ctx context.Context, db *sql.DB) error {
	var encoding string
	if err := db.QueryRowContext(ctx, "PRAGMA encoding").Scan(&encoding); err != nil {
		return fmt.Errorf("ask for the encoding: %w", err)
	}
	if encoding != "UTF-8" {
		return fmt.Errorf("the database's encoding is %s, in which text is longer than the limits of the tables: use a file that was made with UTF-8", encoding)
	}
	return nil
}

// checkWritable writes and takes it back. The write lock alone proves nothing: on a database that can't be written,
// BEGIN IMMEDIATE quietly begins a reading transaction. A lock that others hold does prove it.
func (s sqlite) checkWritable(ctx context.Context, db *sql.DB) error {
	err := s.tryToWrite(ctx, db)
	switch s.Classify(err) {
	case dialect.Conflict:
		return nil
	case dialect.ReadOnly:
		return fmt.Errorf("the database is read-only: look for mode=ro or query_only in the DSN, and at the permissions of the file and its directory: %w", err)
	}
	if err != nil {
		return fmt.Errorf("try to write: %w", err)
	}
	return nil
}

func (s sqlite) tryToWrite(ctx context.Context, db *sql.DB) error {
	tx, err := s.Begin(ctx, db)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "CREATE TABLE outbox_writable_check (n BIGINT)")
	return errors.Join(err, tx.Rollback())
}
