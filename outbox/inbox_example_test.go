package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// A consumer behind a broker. What it does with a message, and that it has done so, are one transaction, so that a
// redelivery has no second effect.
func ExampleInbox() {
	ctx := context.Background()
	db, err := sqlite.Open(":memory:") // the consumer's own database
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := migrations.Up(ctx, db, sqlite.New(), nil); err != nil {
		log.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE invoices (order_id TEXT)"); err != nil {
		log.Fatal(err)
	}
	inbox, err := outbox.NewInbox(db, sqlite.New(), nil)
	if err != nil {
		log.Fatal(err)
	}

	handle := func(messageID, order string) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		first, err := inbox.Once(ctx, tx, "billing", messageID)
		if err != nil {
			return err // not acknowledged: the broker delivers it again
		}
		if !first {
			return nil // handled before: acknowledge it
		}
		if err := invoice(ctx, tx, order); err != nil {
			return err
		}
		return tx.Commit()
	}
	for _, messageID := range []string{"m-1", "m-2", "m-1"} {
		if err := handle(messageID, "order of "+messageID); err != nil {
			log.Fatal(err)
		}
	}

	var invoices int
	if err := db.QueryRow("SELECT COUNT(*) FROM invoices").Scan(&invoices); err != nil {
		log.Fatal(err)
	}
	fmt.Println(invoices, "invoices")

	// Once an hour or so. The age exceeds the longest time after which a message may come again.
	n, err := inbox.Purge(ctx, 30*24*time.Hour)
	fmt.Println(n, err)
	// Output:
	// 2 invoices
	// 0 <nil>
}

func invoice(ctx context.Context, tx *sql.Tx, order string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id) VALUES (?)", order)
	return err
}
