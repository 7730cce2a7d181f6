package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/postgres/pgwake"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/feedhttp"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// What stands between "README" and "end" is shown there as it is.
var _ = []any{service, deadLetters, wake, handlers, readFeed, serveFeed, webhooks}

func service(r *relay.Relay, serve func(context.Context)) {
	// README: run
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		err := r.Run(ctx)
		stop() // the service ends with its relay
		ended <- err
	}()
	serve(ctx)
	if err := <-ended; err != nil { // what waiting does not mend, such as relay.ErrOrder or outbox.ErrSchema
		log.Fatal(err) // and whoever supervises the service starts it again
	}
	// end
}

func deadLetters(ctx context.Context, box *outbox.Outbox) {
	// README: dead letters
	dead, err := box.DeadLetters(ctx, outbox.DeadLetterQuery{Topic: "orders.placed"}) // a page: After is the last one's Seq
	check(err)
	for _, d := range dead {
		fmt.Println(d.Event.ID, d.Attempts, d.LastError)
	}
	n, err := box.RequeueMatching(ctx, outbox.DeadLetterQuery{Topic: "orders.placed"}) // the cause is mended
	check(err)
	fmt.Println(n, "are tried again, from their first attempt on")
	_, err = box.Discard(ctx, "an-id") // for good
	check(err)
	// end
}

func wake(ctx context.Context, box *outbox.Outbox, r *relay.Relay, dsn string) {
	// README: wake
	n, err := pgwake.New(dsn, nil)
	check(err)
	defer n.Close()
	box.Attach(n)       // in each process that writes events
	go n.Listen(ctx, r) // in each process that runs a relay
	// end
}

func handlers(ctx context.Context, box *outbox.Outbox, sendMail func(context.Context, relay.Message) error) {
	// README: handlers
	h, err := relay.NewHandlers(box, nil)
	check(err)
	check(h.Handle("invoice", []string{"orders.*"}, func(ctx context.Context, tx *sql.Tx, m relay.Message) error {
		if _, err := tx.ExecContext(ctx, "INSERT INTO invoices (placed) VALUES (1)"); err != nil { // once, however often the event is handed over
			return err
		}
		_, err := box.Write(ctx, tx, relay.Caused(m, outbox.Event{Topic: "invoices.written", Key: m.Key})) // what follows from it
		return err
	}))
	check(h.HandleNoTx("mail", []string{"invoices.written"}, sendMail)) // talks to the outside: at least once
	r, err := relay.New(box, h, nil)
	check(err)
	check(h.Announce(ctx))            // from here on events are theirs: a new handler begins with what is written then, unless it says FromOldest
	go func() { check(r.Run(ctx)) }() // as ever
	// end
}

func readFeed(ctx context.Context, box *outbox.Outbox) {
	// README: feed
	f := box.Feed()
	at, err := f.Oldest(ctx)              // or Head, for what comes; a zero Cursor is ErrGone once anything was purged
	if errors.Is(err, outbox.ErrNoFeed) { // no relay with a feed has run yet: turn it on
		check(f.BackFill(ctx, nil))
		at, err = f.Oldest(ctx)
	}
	check(err)
	check(f.Register(ctx, "billing", at, 24*time.Hour)) // at each start: one that is there stays where it is
	at, err = f.Position(ctx, "billing")
	check(err)
	for ctx.Err() == nil {
		events, next, err := f.Read(ctx, at, 100, "orders.*")
		check(err)
		for _, e := range events {
			fmt.Println(e.Cursor, e.Event.ID, e.Event.Topic)
		}
		if next == at { // the head
			time.Sleep(time.Second)
		}
		check(f.Advance(ctx, "billing", at, next)) // also says that the reader is there
		at = next
	}
	// end
}

func serveFeed(box *outbox.Outbox, mux *http.ServeMux, authorize func(*http.Request) error) *http.Server {
	// README: http
	h, err := feedhttp.New(box.Feed(), &feedhttp.Options{Source: "https://shop.example/orders", Authorize: authorize})
	check(err)
	mux.Handle("/events", h) // GET /events?after=…&limit=100&topic=orders.*
	server := &http.Server{Handler: mux, ConnContext: feedhttp.ConnContext}
	server.RegisterOnShutdown(h.EndStreams) // Shutdown waits for streams, and does not end them
	// end
	return server
}

func webhooks(ctx context.Context, db *sql.DB, dialect dialect.Dialect) {
	// README: webhooks
	box, err := outbox.New(db, dialect, &outbox.Options{Feed: true})
	check(err)
	hooks, err := webhook.New(box, nil)
	check(err)
	secret := webhook.NewSecret() // let the subscriber have secret.Reveal() first: requests may come before Create returns
	_, err = hooks.Create(ctx, webhook.Subscription{
		Name: "warehouse", URL: "https://warehouse.example/hooks", Topics: []string{"orders.*"}, Ordered: true,
	}, secret)
	if !errors.Is(err, webhook.ErrExists) { // made once: the one that is there stays as it is, with its secret
		check(err)
	}

	// Webhooks get what a relay publishes. Where there is no broker beside them, publishing is doing nothing.
	nothing := relay.PublisherFunc(func(context.Context, relay.Message) error { return nil })
	r, err := relay.New(box, nothing, &relay.Options{Retention: 7 * 24 * time.Hour, Observers: []relay.Observer{hooks}})
	check(err)
	go func() { check(r.Run(ctx)) }()
	go func() { check(hooks.Run(ctx)) }() // both in as many processes as you like
	// end
}
