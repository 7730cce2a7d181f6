package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// prefix keeps this program's outbox apart from one that -db may lead to.
const prefix = "handlers_outbox_"

// shop is the service: a database with its tables, and an outbox in it.
type shop struct {
	db  *sql.DB
	d   dialect.Dialect
	box *outbox.Outbox

	mu  sync.Mutex // guards out: mails are sent side by side
	out io.Writer
}

var tables = []string{
	"handlers_orders (id VARCHAR(64) PRIMARY KEY, item VARCHAR(64) NOT NULL, quantity BIGINT NOT NULL)",
	"handlers_stock (item VARCHAR(64) PRIMARY KEY, left_over BIGINT NOT NULL)",
	"handlers_invoices (order_id VARCHAR(64) PRIMARY KEY, pieces BIGINT NOT NULL)",
}

func openShop(ctx context.Context, url string, out io.Writer) (*shop, error) {
	db, d, err := all.Open(url)
	if err != nil {
		return nil, err
	}
	s := &shop{db: db, d: d, out: out}
	if err := s.create(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *shop) create(ctx context.Context) (err error) {
	if err := migrations.Up(ctx, s.db, s.d, &migrations.Options{Prefix: prefix}); err != nil {
		return err
	}
	for _, table := range tables {
		if _, err := s.db.ExecContext(ctx, "CREATE TABLE "+table); err != nil {
			return err
		}
	}
	if _, err := s.db.ExecContext(ctx, "INSERT INTO handlers_stock (item, left_over) VALUES ('lamp', 10), ('chair', 5), ('desk', 1)"); err != nil {
		return err
	}
	s.box, err = outbox.New(s.db, s.d, &outbox.Options{Prefix: prefix})
	return err
}

// remove drops what create made.
func (s *shop) remove(ctx context.Context) error {
	var errs []error
	for _, table := range []string{"handlers_orders", "handlers_stock", "handlers_invoices"} {
		_, err := s.db.ExecContext(ctx, "DROP TABLE "+table)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, migrations.Down(ctx, s.db, s.d, &migrations.Options{Prefix: prefix}), s.db.Close())...)
}

func (s *shop) bind(query string) string { return s.d.Bind(query) }

func (s *shop) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// report shows what is in the tables, and how the handlers fared.
func (s *shop) report(ctx context.Context) error {
	for _, q := range []struct{ what, text string }{
		{"orders placed", "SELECT COUNT(*) FROM handlers_orders"},
		{"invoices written", "SELECT COUNT(*) FROM handlers_invoices"},
		{"pieces invoiced", "SELECT COALESCE(SUM(pieces), 0) FROM handlers_invoices"},
		{"pieces left in stock", "SELECT SUM(left_over) FROM handlers_stock"},
	} {
		n := 0
		if err := s.db.QueryRowContext(ctx, q.text).Scan(&n); err != nil {
			return err
		}
		s.say("%-20s %d", q.what, n)
	}
	stats, err := s.box.HandlerStats(ctx)
	for _, h := range stats {
		s.say("handler %-12s %d done, %d rejected", h.Name, h.Done, h.Rejected)
	}
	return err
}
