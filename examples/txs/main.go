// Txs writes the same event through each kind of transaction that a Go program may hold:
//
//	go run ./examples/txs                      # on SQLite, in a temporary directory
//	go run ./examples/txs -db postgres://…     # on any engine; PostgreSQL adds the two of pgx
//
// Each way is a file: stdlib.go, sqlx.go, pgxstdlib.go, pgxnative.go. They differ in how a transaction is begun and
// ended, and in nothing else: outbox.Write takes all of them. gorm, bun and sqlc's style are in the module orms below.
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
)

func main() {
	url := flag.String("db", "", "database `URL` (default: SQLite in a temporary directory)")
	flag.Parse()
	if err := run(context.Background(), *url, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "txs:", err)
		os.Exit(1)
	}
}

// way places an order: the order's row and its event, in one transaction. What before returns, just before the commit,
// decides: an error rolls back.
type way struct {
	name     string
	only     string // the one engine it is for; empty: every engine
	placeOne func(ctx context.Context, s *shop, id string, before func() error) error
}

func ways() []way {
	return []way{
		{"database/sql", "", placeWithStdlib},
		{"sqlx", "", placeWithSqlx},
		{"pgx through database/sql", "postgres", placeWithPgxStdlib},
		{"pgx", "postgres", placeWithPgx},
	}
}

// prefix keeps this program's outbox apart from one that -db may lead to.
const prefix = "txs_outbox_"

// shop is the host program: a database with a table of its own, and an outbox in it.
type shop struct {
	url string
	db  *sql.DB
	d   dialect.Dialect
	o   *outbox.Outbox
}

func openShop(ctx context.Context, url string) (*shop, error) {
	db, d, err := all.Open(url)
	if err != nil {
		return nil, err
	}
	s := &shop{url: url, db: db, d: d}
	if err := s.create(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *shop) create(ctx context.Context) (err error) {
	if err := migrations.Up(ctx, s.db, s.d, &migrations.Options{Prefix: prefix}); err != nil {
		return err
	}
	if _, err := s.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS txs_orders (id VARCHAR(64) PRIMARY KEY)"); err != nil {
		return err
	}
	s.o, err = outbox.New(s.db, s.d, &outbox.Options{Prefix: prefix})
	return err
}

// remove drops what create made.
func (s *shop) remove(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "DROP TABLE txs_orders")
	return errors.Join(err, migrations.Down(ctx, s.db, s.d, &migrations.Options{Prefix: prefix}), s.db.Close())
}

// event is the same for all ways.
func event(id string) outbox.Event {
	return outbox.Event{Topic: "order.placed", Key: id, Payload: []byte(`{"order":"` + id + `"}`)}
}

// counts are how many orders and events there are.
func (s *shop) counts(ctx context.Context) (orders, events int64, err error) {
	if err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM txs_orders").Scan(&orders); err != nil {
		return 0, 0, err
	}
	stats, err := s.o.Stats(ctx)
	return orders, stats.Pending, err
}

func run(ctx context.Context, url string, out io.Writer) (err error) {
	if url == "" {
		dir, err := os.MkdirTemp("", "sqloutbox-txs-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		url = "sqlite:" + filepath.Join(dir, "shop.db")
	}
	s, err := openShop(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove(ctx)) }()
	for _, w := range ways() {
		if w.only != "" && w.only != s.d.Name() {
			fmt.Fprintf(out, "%-25s for %s alone\n", w.name, w.only)
			continue
		}
		if err := try(ctx, s, w, out); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

var errChangedMind = errors.New("rolled back on purpose")

// try places an order and rolls another one back.
func try(ctx context.Context, s *shop, w way, out io.Writer) error {
	orders, events, err := s.counts(ctx)
	if err != nil {
		return err
	}
	if err := w.placeOne(ctx, s, rand.Text(), func() error { return nil }); err != nil {
		return err
	}
	err = w.placeOne(ctx, s, rand.Text(), func() error { return errChangedMind })
	if !errors.Is(err, errChangedMind) {
		return fmt.Errorf("the roll-back answered %w", err)
	}
	ordersNow, eventsNow, err := s.counts(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%-25s committed 1, rolled back 1: %d order and %d event more\n", w.name, ordersNow-orders, eventsNow-events)
	return nil
}
