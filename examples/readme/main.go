package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func main() {
	ctx := context.Background()
	db, dialect, err := all.Open("sqlite:shop.db") // or postgres://… mysql://… mariadb://…
	check(err)
	check(migrations.Up(ctx, db, dialect, nil))
	_, err = db.Exec("CREATE TABLE IF NOT EXISTS orders (placed BIGINT, total BIGINT)")
	check(err)
	box, err := outbox.New(db, dialect, nil)
	check(err)

	// The business change and its event commit together, or neither does.
	check(box.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (1, 4200)"); err != nil {
			return err
		}
		_, err := box.Write(ctx, tx, outbox.Event{Topic: "orders.placed", Key: "order-1", Payload: []byte(`{"total":4200}`)})
		return err
	}))

	// A relay hands it on. In a service: r.Run(ctx), which docs/operating.md shows how to wait for.
	r, err := relay.New(box, relay.PublisherFunc(func(ctx context.Context, m relay.Message) error {
		fmt.Println("published", m.Topic, m.Key, string(m.Payload)) // your broker, your HTTP call
		return nil
	}), nil)
	check(err)
	_, err = r.Drain(ctx)
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
