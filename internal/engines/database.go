package engines

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// databasePrefix begins the name of every database made here, so that Down can tell them from others.
const databasePrefix = "outbox_test_"

// Create makes an empty database and returns its URL and what drops it again.
func (e *Engine) Create(ctx context.Context) (url string, drop func(), err error) {
	if e.Name == "sqlite" {
		dir, err := os.MkdirTemp("", "sqloutbox-")
		if err != nil {
			return "", nil, fmt.Errorf("create database: %w", err)
		}
		return "sqlite:" + filepath.Join(dir, "outbox.db"), func() { _ = os.RemoveAll(dir) }, nil
	}
	url, dropIt, err := e.create(ctx)
	if err != nil {
		return "", nil, err
	}
	return url, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		_ = dropIt(ctx) // Down drops what is left
	}, nil
}

func (e *Engine) create(ctx context.Context) (url string, drop func(context.Context) error, err error) {
	name := databasePrefix + strings.ToLower(rand.Text())
	if err := e.exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, fmt.Errorf("create database on %s: %w", e.Name, err)
	}
	url, err = withDatabase(e.admin, name)
	if err != nil {
		return "", nil, err
	}
	return url, func(ctx context.Context) error { return e.drop(ctx, name) }, nil
}

func (e *Engine) exec(ctx context.Context, query string) error {
	db, err := open(e.admin)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, query)
	return err
}

// drop removes a database and ends whatever is still connected to it, which could otherwise keep it for ever.
func (e *Engine) drop(ctx context.Context, name string) error {
	db, err := open(e.admin)
	if err != nil {
		return fmt.Errorf("drop database: %w", err)
	}
	defer db.Close()
	query := "DROP DATABASE IF EXISTS " + name
	if e.Name == "postgres" {
		query += " WITH (FORCE)"
	} else if err := killSessions(ctx, db, name); err != nil {
		return fmt.Errorf("drop database: %w", err)
	}
	if _, err := db.ExecContext(ctx, query); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

// killSessions does on MySQL and MariaDB what WITH (FORCE) does on PostgreSQL: there a DROP waits for every
// transaction that has used one of the tables.
func killSessions(ctx context.Context, db *sql.DB, name string) error {
	ids, err := rows.Column[int64](ctx, db, "SELECT id FROM information_schema.processlist WHERE db = ?", name)
	if err != nil {
		return err
	}
	for _, id := range ids {
		_, _ = db.ExecContext(ctx, fmt.Sprintf("KILL %d", id)) // it may have ended by itself
	}
	return nil
}

// dropLeftOvers removes the databases of tests that were killed before they could. Nobody else may be testing.
func (e *Engine) dropLeftOvers(ctx context.Context) error {
	db, err := open(e.admin)
	if err != nil {
		return err
	}
	defer db.Close()
	query := "SELECT schema_name FROM information_schema.schemata"
	if e.Name == "postgres" {
		query = "SELECT datname FROM pg_database"
	}
	names, err := rows.Column[string](ctx, db, query)
	if err != nil {
		return fmt.Errorf("list databases: %w", err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, databasePrefix) {
			if err := e.drop(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}
