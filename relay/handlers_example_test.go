package relay_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// Handlers in the same program, with no broker. What a handler writes in its transaction is there once, however often the
// event is handed over. One that refuses says so; one that fails is tried again, and the others are not.
func ExampleHandlers() {
	db, box := outboxWith()
	defer db.Close()
	ctx := context.Background()
	if _, err := db.Exec("CREATE TABLE stock (item TEXT PRIMARY KEY, n INTEGER); INSERT INTO stock VALUES ('lamp', 3)"); err != nil {
		log.Fatal(err)
	}

	h, err := relay.NewHandlers(box, nil)
	if err != nil {
		log.Fatal(err)
	}
	type placed struct {
		Order, Item string
		N           int
	}
	err = errors.Join(
		relay.HandleJSON(h, "stock", []string{"orders.placed"}, func(ctx context.Context, tx *sql.Tx, o placed, m relay.Message) error {
			res, err := tx.ExecContext(ctx, "UPDATE stock SET n = n - ? WHERE item = ? AND n >= ?", o.N, o.Item, o.N)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return errors.Join(err, relay.Reject(errors.New("not enough in stock")))
			}
			_, err = box.Write(ctx, tx, relay.Caused(m, outbox.Event{Topic: "stock.taken", Key: o.Order}))
			return err
		}),
		h.HandleNoTx("mail", []string{"stock.*"}, func(ctx context.Context, m relay.Message) error {
			fmt.Println("mail for", m.Key, "because of", m.Headers[relay.CausationHeader])
			return nil
		}))
	if err != nil {
		log.Fatal(err)
	}
	r, err := relay.New(box, h, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := h.Announce(ctx); err != nil { // what is written from here on is theirs
		log.Fatal(err)
	}

	err = box.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := box.Write(ctx, tx, // of one key: the first order is the first to be served
			outbox.Event{ID: "e1", Topic: "orders.placed", Key: "lamp", Payload: []byte(`{"order":"order-1","item":"lamp","n":2}`)},
			outbox.Event{ID: "e2", Topic: "orders.placed", Key: "lamp", Payload: []byte(`{"order":"order-2","item":"lamp","n":2}`)})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := r.Drain(ctx); err != nil { // in a service: go r.Run(ctx)
		log.Fatal(err)
	}
	var n int
	if err := db.QueryRow("SELECT n FROM stock").Scan(&n); err != nil {
		log.Fatal(err)
	}
	fmt.Println("left in stock:", n)
	// Unordered output:
	// mail for order-1 because of e1
	// left in stock: 1
}
