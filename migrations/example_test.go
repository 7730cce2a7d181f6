package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/sqloutbox/sqloutbox/dialect/postgres"
	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/migrations"
)

// A program that may make its tables itself calls Up at every start; any number of replicas may do so at once. One that
// may not calls Check and says what is wrong.
func Example() {
	ctx := context.Background()
	db, err := sqlite.Open(":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	d := sqlite.New()

	fmt.Println(errors.Is(migrations.Check(ctx, db, d, nil), migrations.ErrSchemaMissing))
	if err := migrations.Up(ctx, db, d, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(migrations.Check(ctx, db, d, nil))

	steps, err := migrations.Status(ctx, db, d, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range steps[:1] {
		fmt.Println(s.Version, s.Name, s.Applied)
	}
	// Output:
	// true
	// <nil>
	// 1 00001_events.sql true
}

// Two outboxes in one database have prefixes of their own. Give the same one to the Outbox.
func ExampleOptions() {
	ctx := context.Background()
	db, err := sqlite.Open(":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for _, prefix := range []string{"billing_outbox_", "shipping_outbox_"} {
		if err := migrations.Up(ctx, db, sqlite.New(), &migrations.Options{Prefix: prefix}); err != nil {
			log.Fatal(err)
		}
	}
	var n int
	err = db.QueryRow("SELECT COUNT(*) FROM sqlite_master WHERE name LIKE '%_outbox_events'").Scan(&n)
	fmt.Println(n, err)
	// Output: 2 <nil>
}

// For another migration tool: the plain statements, in order. No database is needed.
func ExampleSQL() {
	statements, err := migrations.SQL(postgres.New(), &migrations.Options{Schema: "events"})
	if err != nil {
		log.Fatal(err)
	}
	first, _, _ := strings.Cut(statements[0], "\n")
	fmt.Println(first)
	// Output: CREATE TABLE IF NOT EXISTS events.outbox_events (
}
