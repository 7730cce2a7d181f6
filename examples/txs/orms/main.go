// Orms writes the same event through the transactions of gorm, bun and code that sqlc generates:
//
//	cd examples/txs/orms
//	go run .                       # on SQLite: bun and sqlc's style
//	go run . -db postgres://…      # on PostgreSQL: gorm and bun
//
// All of them hold a transaction of database/sql inside, and that is what outbox.Write is given. It is a module of its
// own, so that a program that uses sqloutbox does not get three other libraries listed among its dependencies.
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
	url := flag.String("db", "", "database `URL`, of SQLite or PostgreSQL (default: SQLite in a temporary directory)")
	flag.Parse()
	if err := run(context.Background(), *url, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "orms:", err)
		os.Exit(1)
	}
}

// way places an order: the order's row and its event, in one transaction. What before returns, just before the commit,
// decides: an error rolls back.
type way struct {
	name     string
	engines  []string
	placeOne func(ctx context.Context, s *shop, id string, before func() error) error
}

func ways() []way {
	return []way{
		{"gorm", []string{"postgres"}, placeWithGorm},
		{"bun", []string{"sqlite", "postgres"}, placeWithBun},
		{"sqlc", []string{"sqlite"}, placeWithSqlc},
	}
}

// prefix keeps this program's outbox apart from one that -db may lead to.
const prefix = "orms_outbox_"

// shop is the host program: a database with a table of its own, and an outbox in it.
type shop struct {
	db *sql.DB
	d  dialect.Dialect
	o  *outbox.Outbox
}

func openShop(ctx context.Context, url string) (*shop, error) {
	db, d, err := all.Open(url)
	if err != nil {
		return nil, err
	}
	s := &shop{db: db, d: d}
	if err := s.create(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *shop) create(ctx context.Context) (err error) {
	if err := migrations.Up(ctx, s.db, s.d, &migrations.Options{Prefix: prefix}); err != nil {
		return err
	}
	if _, err := s.db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orms_orders (id VARCHAR(64) PRIMARY KEY)"); err != nil {
		return err
	}
	s.o, err = outbox.New(s.db, s.d, &outbox.Options{Prefix: prefix})
	return err
}

// remove drops what create made.
func (s *shop) remove(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, "DROP TABLE orms_orders")
	return errors.Join(err, migrations.Down(ctx, s.db, s.d, &migrations.Options{Prefix: prefix}), s.db.Close())
}

// event is the same for all ways.
func event(id string) outbox.Event {
	return outbox.Event{Topic: "order.placed", Key: id, Payload: []byte(`{"order":"` + id + `"}`)}
}

// counts are how many orders and events there are.
func (s *shop) counts(ctx context.Context) (orders, events int64, err error) {
	if err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM orms_orders").Scan(&orders); err != nil {
		return 0, 0, err
	}
	stats, err := s.o.Stats(ctx)
	return orders, stats.Pending, err
}

func run(ctx context.Context, url string, out io.Writer) (err error) {
	if url == "" {
		dir, err := os.MkdirTemp("", "sqloutbox-orms-")
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
	for _, w := range s.ways() {
		if err := try(ctx, s, w, out); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// ways are those that this example shows on the shop's engine.
func (s *shop) ways() []way {
	var list []way
	for _, w := range ways() {
		for _, engine := range w.engines {
			if engine == s.d.Name() {
				list = append(list, w)
			}
		}
	}
	return list
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
	fmt.Fprintf(out, "%-5s committed 1, rolled back 1: %d order and %d event more\n", w.name, ordersNow-orders, eventsNow-events)
	return nil
}
