package webhook_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// A service with one subscriber, which verifies what it gets.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	dir, err := os.MkdirTemp("", "webhook-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(filepath.Join(dir, "shop.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := migrations.Up(ctx, db, sqlite.New(), nil); err != nil {
		log.Fatal(err)
	}
	o, err := outbox.New(db, sqlite.New(), &outbox.Options{Feed: true})
	if err != nil {
		log.Fatal(err)
	}
	hooks, err := webhook.New(o, &webhook.Options{AllowHTTP: true, AllowPrivate: true}) // the subscriber is in this process
	if err != nil {
		log.Fatal(err)
	}
	nowhere := relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }) // or a broker, or relay.Handlers
	r, err := relay.New(o, nowhere, &relay.Options{Retention: 24 * time.Hour, Observers: []relay.Observer{hooks}})
	if err != nil {
		log.Fatal(err)
	}

	// The subscriber.
	secret := webhook.NewSecret() // both have it before the first request comes
	got := make(chan string, 1)
	subscriber := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, 1<<20))
		if err != nil {
			return
		}
		if _, err := webhook.Verify(req.Header, body, secret); err != nil {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		got <- req.Header.Get(webhook.HeaderTopic) + " " + string(body)
	}))
	defer subscriber.Close()
	_, err = hooks.Create(ctx, webhook.Subscription{Name: "warehouse", URL: subscriber.URL, Topics: []string{"orders.*"}}, secret)
	if err != nil {
		log.Fatal(err)
	}

	go r.Run(ctx)
	ended := make(chan error, 1)
	go func() { ended <- hooks.Run(ctx) }()
	err = o.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := o.Write(ctx, tx, outbox.Event{Topic: "orders.placed", Payload: []byte(`{"order":1}`)})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-got)
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output: orders.placed {"order":1}
}
