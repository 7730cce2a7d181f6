package outbox_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// A complete program: the order and the event about it are in one transaction, and a relay hands the event on.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "outbox-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(filepath.Join(dir, "shop.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	d := sqlite.New()
	if err := migrations.Up(ctx, db, d, nil); err != nil {
		log.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT)"); err != nil {
		log.Fatal(err)
	}
	o, err := outbox.New(db, d, nil)
	if err != nil {
		log.Fatal(err)
	}

	err = o.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (id, item) VALUES (1, 'lamp')"); err != nil {
			return err
		}
		_, err := o.Write(ctx, tx, outbox.Event{Topic: "order.placed", Key: "1", Payload: []byte(`{"item":"lamp"}`)})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}

	// In a service this is r.Run(ctx) in a goroutine, or in a process of its own.
	r, err := relay.New(o, relay.PublisherFunc(func(ctx context.Context, m relay.Message) error {
		fmt.Printf("%s of order %s: %s\n", m.Topic, m.Key, m.Payload)
		return nil
	}), nil)
	if err != nil {
		log.Fatal(err)
	}
	n, err := r.Drain(ctx)
	fmt.Println(n, err)
	// Output:
	// order.placed of order 1: {"item":"lamp"}
	// 1 <nil>
}

// newOutbox is an outbox on an empty SQLite database in memory, which is enough for an example. A database in memory has
// one connection, so nothing else can be asked while a transaction is open.
func newOutbox(opts *outbox.Options) (*sql.DB, *outbox.Outbox) {
	db, err := sqlite.Open(":memory:")
	if err != nil {
		log.Fatal(err)
	}
	if err := migrations.Up(context.Background(), db, sqlite.New(), nil); err != nil {
		log.Fatal(err)
	}
	o, err := outbox.New(db, sqlite.New(), opts)
	if err != nil {
		log.Fatal(err)
	}
	return db, o
}

// Write takes a transaction that the host began itself. The event goes the way of the transaction.
func ExampleOutbox_Write() {
	ctx := context.Background()
	db, o := newOutbox(nil)
	defer db.Close()

	for _, commit := range []bool{true, false} {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			log.Fatal(err)
		}
		ids, err := o.Write(ctx, tx,
			outbox.Event{ID: fmt.Sprintf("signup-%v", commit), Topic: "user.signed_up", Key: "ada"},
			outbox.Event{Topic: "mail.wanted", Key: "ada", Delay: time.Hour}, // it gets a new UUID as its id
		)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(ids), ids[0])
		if commit {
			err = tx.Commit()
			o.Wake() // a relay of this process looks at once
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			log.Fatal(err)
		}
		s, err := o.Stats(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("pending", s.Pending, "scheduled", s.Scheduled)
	}
	// Output:
	// 2 signup-true
	// pending 1 scheduled 1
	// 2 signup-false
	// pending 1 scheduled 1
}

// What breaks a limit is refused before the transaction is touched, with the same verdict on every engine.
func ExampleInvalidEventError() {
	db, o := newOutbox(nil)
	defer db.Close()

	err := o.InTx(context.Background(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := o.Write(ctx, tx, outbox.Event{Topic: "ok"}, outbox.Event{Topic: "not\x00ok"})
		return err
	})
	var invalid *outbox.InvalidEventError
	if errors.As(err, &invalid) {
		fmt.Println(invalid.Index, invalid.Field, invalid.Reason)
	}
	// Output: 1 Topic holds a NUL character
}

// An event's id is unique. A host that may write the same event twice, as after a commit with an unknown outcome, is
// told so, or sets Options.IgnoreDuplicates.
func ExampleErrDuplicate() {
	db, o := newOutbox(nil)
	defer db.Close()

	for range 2 {
		err := o.InTx(context.Background(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := o.Write(ctx, tx, outbox.Event{ID: "order-1-placed", Topic: "order.placed"})
			return err
		})
		fmt.Println(errors.Is(err, outbox.ErrDuplicate))
	}
	// Output:
	// false
	// true
}

// A dead letter stays where it is until an operator puts it back or discards it.
func ExampleOutbox_Requeue() {
	ctx := context.Background()
	db, o := newOutbox(nil)
	defer db.Close()
	err := o.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := o.Write(ctx, tx, outbox.Event{ID: "order-1-placed", Topic: "order.placed"})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	healthy := false
	r, err := relay.New(o, relay.PublisherFunc(func(ctx context.Context, m relay.Message) error {
		if !healthy {
			return relay.Permanent(errors.New("no such account"))
		}
		fmt.Println("published", m.ID, "requeued:", m.Requeued)
		return nil
	}), nil)
	if err != nil {
		log.Fatal(err)
	}

	if _, err := r.Drain(ctx); err != nil {
		log.Fatal(err)
	}
	dead, err := o.DeadLetters(ctx, outbox.DeadLetterQuery{Topic: "order.placed"})
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range dead {
		fmt.Printf("%s after %d attempt: %s\n", d.ID, d.Attempts, d.LastError)
	}

	healthy = true
	n, err := o.Requeue(ctx, dead[0].ID)
	fmt.Println(n, err)
	if _, err := r.Drain(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// order-1-placed after 1 attempt: permanent: no such account
	// 1 <nil>
	// published order-1-placed requeued: true
}
