package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// A reader with a cursor of its own in the database, which comes back where it was. Purge waits for it for a day.
func ExampleFeed() {
	ctx := context.Background()
	db, o := newOutbox(&outbox.Options{Feed: true})
	defer db.Close()
	r, err := relay.New(o, relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }),
		&relay.Options{Order: relay.OrderTotal, Retention: 7 * 24 * time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	err = o.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := o.Write(ctx, tx, outbox.Event{Topic: "orders.placed", Key: "1"}, outbox.Event{Topic: "users.left"}, outbox.Event{Topic: "orders.paid", Key: "1"})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := r.Drain(ctx); err != nil {
		log.Fatal(err)
	}

	feed := o.Feed()
	if err := feed.Register(ctx, "billing", outbox.Cursor{}, 24*time.Hour); err != nil {
		log.Fatal(err)
	}
	at, err := feed.Position(ctx, "billing")
	if err != nil {
		log.Fatal(err)
	}
	events, next, err := feed.Read(ctx, at, 100, "orders.*")
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range events {
		fmt.Println(e.Cursor.Seq, e.Event.Topic, e.Event.Key)
	}
	if err := feed.Advance(ctx, "billing", at, next); err != nil { // ErrCursorMoved: another process reads by this name
		log.Fatal(err)
	}
	// Output:
	// 1 orders.placed 1
	// 3 orders.paid 1
}
