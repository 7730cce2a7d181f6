package feedhttp_test

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/feedhttp"
)

// A service that serves its feed, and a reader of it that goes page by page. Errors go to log.Fatal, as in a small program.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "outbox-example-")
	check(err)
	defer os.RemoveAll(dir)
	db, err := sqlite.Open(filepath.Join(dir, "shop.db"))
	check(err)
	defer db.Close()
	check(migrations.Up(ctx, db, sqlite.New(), nil))
	box, err := outbox.New(db, sqlite.New(), &outbox.Options{Feed: true})
	check(err)
	r, err := relay.New(box, relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }),
		&relay.Options{Retention: 7 * 24 * time.Hour})
	check(err)
	check(box.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := box.Write(ctx, tx,
			outbox.Event{ID: "e1", Topic: "orders.placed", Key: "order-1", Payload: []byte(`{"total": 4200}`)},
			outbox.Event{ID: "e2", Topic: "users.left", Key: "order-1"},
			outbox.Event{ID: "e3", Topic: "orders.paid", Key: "order-1", Payload: []byte(`{"total": 4200}`)})
		return err
	}))
	_, err = r.Drain(ctx) // in a service: go r.Run(ctx)
	check(err)

	// The server.
	h, err := feedhttp.New(box.Feed(), &feedhttp.Options{
		Source: "https://shop.example/orders",
		Authorize: func(r *http.Request) error {
			if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer s3cret")) == 0 {
				return feedhttp.ErrUnauthenticated
			}
			return nil
		},
	})
	check(err)
	mux := http.NewServeMux()
	mux.Handle("/events", h)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	server.RegisterOnShutdown(h.EndStreams)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go server.Serve(listener)
	defer server.Shutdown(ctx)

	// A reader. It keeps the cursor, here in a variable.
	for after := ""; ; {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String()+"/events?topic=orders.*&after="+after, nil)
		check(err)
		req.Header.Set("Authorization", "Bearer s3cret")
		res, err := http.DefaultClient.Do(req)
		check(err)
		if res.StatusCode != http.StatusOK {
			log.Fatal(res.Status) // 410: go on from the answer's "oldest", and know that something is lost
		}
		var events []struct {
			ID, Type, Subject, Sequence string
			Data                        struct{ Total int }
		}
		check(json.NewDecoder(res.Body).Decode(&events))
		check(res.Body.Close())
		for _, e := range events {
			fmt.Println(e.Sequence, e.ID, e.Type, e.Subject, e.Data.Total)
		}
		next := res.Header.Get(feedhttp.NextHeader)
		if next == after {
			break // the head; a service waits and asks again
		}
		after = next
	}
	// Output:
	// 0000000000000000001 e1 orders.placed order-1 4200
	// 0000000000000000003 e3 orders.paid order-1 4200
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
