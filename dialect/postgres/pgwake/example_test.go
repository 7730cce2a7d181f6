package pgwake_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/sqloutbox/sqloutbox/dialect/postgres"
	"github.com/sqloutbox/sqloutbox/dialect/postgres/pgwake"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

const dsn = "postgres://app:secret@db/shop"

// The process that writes tells the others after each commit.
func Example() {
	db, err := postgres.Open(dsn)
	check(err)
	defer db.Close()
	o, err := outbox.New(db, postgres.New(), nil)
	check(err)

	n, err := pgwake.New(dsn, nil)
	check(err)
	defer n.Close() // sends what is still due
	o.Attach(n)

	check(o.InTx(context.Background(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := o.Write(ctx, tx, outbox.Event{Topic: "orders.placed", Payload: []byte(`{"total":4200}`)})
		return err
	}))
}

// The process that runs a relay listens for it.
func ExampleNotifier_Listen() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	db, err := postgres.Open(dsn)
	check(err)
	defer db.Close()
	o, err := outbox.New(db, postgres.New(), nil)
	check(err)
	r, err := relay.New(o, relay.PublisherFunc(func(ctx context.Context, m relay.Message) error {
		fmt.Println("published", m.Topic)
		return nil
	}), nil)
	check(err)

	n, err := pgwake.New(dsn, nil)
	check(err)
	listening := make(chan error, 1)
	go func() { listening <- n.Listen(ctx, r) }()
	check(r.Run(ctx))
	check(<-listening)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
