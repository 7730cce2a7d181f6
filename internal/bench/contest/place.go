package contest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// Place is a database with a pool. Every contestant gets one that is made in the same way.
type Place struct {
	Engine  string
	URL     string
	DB      *sql.DB
	Dialect dialect.Dialect
	Counter *Counter // of what is sent through DB; nil: nothing is counted

	base *sql.DB
	drop func()
}

// connections is how many a pool may hold, idle ones too: database/sql's two would have it connect again all the time.
const connections = 32

// NewPlace makes an empty database on an engine, with a table for the business rows.
func NewPlace(ctx context.Context, e *engines.Engine) (*Place, error) {
	url, drop, err := e.Create(ctx)
	if err != nil {
		return nil, err
	}
	p, err := OpenPlace(e.Name, withParams(e.Name, url))
	if err != nil {
		drop()
		return nil, err
	}
	p.drop = drop
	if _, err := p.DB.ExecContext(ctx, "CREATE TABLE bench_orders (placed BIGINT NOT NULL, total BIGINT NOT NULL)"); err != nil {
		return nil, errors.Join(fmt.Errorf("make place: %w", err), p.Close())
	}
	return p, nil
}

// withParams has all sessions in UTC, and times as the peers need them. The library itself needs none of it.
func withParams(engine, url string) string {
	param := map[string]string{
		"postgres": "timezone=UTC",
		"mysql":    "parseTime=true&time_zone=%27%2B00%3A00%27",
		"mariadb":  "parseTime=true&time_zone=%27%2B00%3A00%27",
		"sqlite":   "_time_format=sqlite",
	}[engine]
	if strings.Contains(url, "?") {
		return url + "&" + param
	}
	return url + "?" + param
}

// OpenPlace makes another pool on a place's URL. Closing it leaves the database.
func OpenPlace(engine, url string) (*Place, error) {
	db, d, err := all.Open(url)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return &Place{Engine: engine, URL: url, DB: db, Dialect: d}, nil
}

// Counting is another pool on the same database, with a counter.
func (p *Place) Counting() (*Place, error) { return p.another("", &Counter{}) }

// another is another pool on the same database, with one more parameter, and with a counter if it is given one.
func (p *Place) another(param string, counter *Counter) (*Place, error) {
	c, err := OpenPlace(p.Engine, p.URL+param) // the URL has parameters
	if err != nil || counter == nil {
		return c, err
	}
	c.Counter = counter
	c.base, c.DB = c.DB, hookdb.Open(c.DB, hookdb.Hooks{Before: counter.add})
	c.DB.SetMaxIdleConns(connections)
	return c, nil
}

// Close closes the pool, and drops the database if the place has made it.
func (p *Place) Close() error {
	err := p.DB.Close()
	if p.base != nil {
		err = errors.Join(err, p.base.Close())
	}
	if p.drop != nil {
		p.drop()
	}
	return err
}

// Rest brings the engine's statistics and clean-up up to date, as they would be by themselves after a while. InnoDB does
// it at once.
func (p *Place) Rest(ctx context.Context) error {
	statement := ""
	switch p.Engine {
	case "postgres":
		tables, err := rows.Column[string](ctx, p.DB, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")
		if err != nil {
			return err
		}
		statement = "VACUUM ANALYZE " + strings.Join(tables, ", ")
	case "sqlite":
		statement = "PRAGMA wal_checkpoint(TRUNCATE)"
	default:
		return nil
	}
	_, err := p.DB.ExecContext(ctx, statement)
	return err
}

// empty takes all rows out of tables.
func (p *Place) empty(ctx context.Context, tables ...string) error {
	how := "TRUNCATE TABLE "
	if p.Engine == "sqlite" {
		how = "DELETE FROM "
	}
	for _, table := range tables {
		if _, err := p.DB.ExecContext(ctx, how+table); err != nil {
			return fmt.Errorf("empty %s: %w", table, err)
		}
	}
	return nil
}

func (p *Place) count(ctx context.Context, query string, args ...any) (n int, err error) {
	err = p.DB.QueryRowContext(ctx, query, args...).Scan(&n)
	return n, err
}

// inTx runs f in a transaction and commits it.
func (p *Place) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := p.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Order is the business row beside the events.
const Order = "INSERT INTO bench_orders (placed, total) VALUES (1, 4200)"
