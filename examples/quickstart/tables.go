package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// place is a database with the tables of one run, under names of their own: -db may name a database with an outbox in
// it already, whose events must not end up in this program's receiver.
type place struct {
	url    string
	db     *sql.DB
	d      dialect.Dialect
	prefix string
	table  string // the business table
	dir    string // temporary directory; empty with -db
	o      *outbox.Outbox
}

func openPlace(ctx context.Context, url string) (*place, error) {
	p := &place{url: url, prefix: "quickstart_" + strings.ToLower(rand.Text()[:8]) + "_"}
	p.table = p.prefix + "activity"
	if err := p.create(ctx); err != nil {
		_ = p.remove(ctx) // as far as it got; the error that says why is err
		return nil, err
	}
	return p, nil
}

func (p *place) create(ctx context.Context) (err error) {
	if p.url == "" {
		if p.dir, err = os.MkdirTemp("", "sqloutbox-quickstart-"); err != nil {
			return err
		}
		p.url = "sqlite:" + filepath.Join(p.dir, "quickstart.db")
	}
	if p.db, p.d, err = all.Open(p.url); err != nil {
		return fmt.Errorf("%w: -db: %w", errUsage, err)
	}
	if p.o, err = outbox.New(p.db, p.d, &outbox.Options{Prefix: p.prefix}); err != nil {
		return err
	}
	if err := migrations.Up(ctx, p.db, p.d, &migrations.Options{Prefix: p.prefix}); err != nil {
		return err
	}
	const columns = "(id VARCHAR(128) PRIMARY KEY, topic VARCHAR(255) NOT NULL, repository VARCHAR(255) NOT NULL)"
	if _, err := p.db.ExecContext(ctx, "CREATE TABLE "+p.table+" "+columns); err != nil {
		return fmt.Errorf("create the business table: %w", err)
	}
	return nil
}

// remove takes away everything that openPlace made, as far as it got.
func (p *place) remove(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx) // also after Ctrl-C
	var errs []error
	if p.db != nil {
		if p.dir == "" {
			_, err := p.db.ExecContext(ctx, "DROP TABLE IF EXISTS "+p.table)
			errs = append(errs, err, migrations.Down(ctx, p.db, p.d, &migrations.Options{Prefix: p.prefix}))
		}
		errs = append(errs, p.db.Close())
	}
	if p.dir != "" {
		errs = append(errs, os.RemoveAll(p.dir))
	}
	return errors.Join(errs...)
}

// look fills in what the database knows.
func (p *place) look(ctx context.Context, e *evidence) error {
	for _, q := range []struct {
		dest *[]string
		text string
	}{
		{&e.rows, "SELECT id FROM " + p.table},
		{&e.events, "SELECT id FROM " + p.o.Table("events") + " ORDER BY seq"},
	} {
		ids, err := column(ctx, p.db, q.text)
		if err != nil {
			return fmt.Errorf("look at what was committed: %w", err)
		}
		*q.dest = ids
	}
	dead, err := p.o.DeadLetters(ctx, outbox.DeadLetterQuery{})
	for _, d := range dead {
		e.dead = append(e.dead, d.ID)
	}
	return err
}

func column(ctx context.Context, db *sql.DB, query string) ([]string, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
