// Handlers is an order service in one program, without a broker: an order is placed, stock is taken, an invoice is written,
// a mail is sent, each by a handler of its own, and each by an event that the one before has caused:
//
//	go run ./examples/handlers                     # on SQLite, in a temporary directory
//	go run ./examples/handlers -db postgres://…    # on any engine
//
// What stock and invoice write commits together with the note that they have handled the event, so that it is there once,
// however often the event is handed over: the invoice fails once on its way. Stock rejects an order that it can't serve.
// The mail goes outside, and so may be sent twice: it is told by its event's id. shop.go holds the tables, handlers.go the
// handlers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

func main() {
	url := flag.String("db", "", "database `URL` (default: SQLite in a temporary directory)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *url, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "handlers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string, out io.Writer) (err error) {
	if url == "" {
		dir, err := os.MkdirTemp("", "sqloutbox-handlers-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		url = "sqlite:" + filepath.Join(dir, "shop.db")
	}
	s, err := openShop(ctx, url, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove(context.WithoutCancel(ctx))) }()
	r, err := s.relay(ctx)
	if err != nil {
		return err
	}
	// In a service the relay runs from start to end; here it ends when all is done.
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.Run(running) }()
	err = errors.Join(s.placeAll(ctx), s.await(ctx))
	stop()
	if err = errors.Join(err, <-ended); err != nil {
		return err
	}
	return s.report(ctx)
}

// relay makes the handlers and what runs them.
func (s *shop) relay(ctx context.Context) (*relay.Relay, error) {
	h, err := relay.NewHandlers(s.box, nil)
	if err != nil {
		return nil, err
	}
	if err := s.addHandlers(h); err != nil {
		return nil, err
	}
	r, err := relay.New(s.box, h, &relay.Options{
		Retention: time.Hour, // keeps the records for the report
		Poll:      20 * time.Millisecond, Backoff: 50 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	return r, h.Announce(ctx) // what is written from here on is theirs
}

// placeAll places orders of three kinds of things, of which there are too few chairs.
func (s *shop) placeAll(ctx context.Context) error {
	for i, o := range []order{{"lamp", 2}, {"chair", 3}, {"desk", 1}, {"chair", 3}, {"lamp", 5}} {
		if err := s.place(ctx, fmt.Sprintf("order-%d", i+1), o); err != nil {
			return err
		}
	}
	return nil
}

// await waits until no event is on its way any more.
func (s *shop) await(ctx context.Context) error {
	for {
		pending := 0
		if err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+s.box.Table("events")+" WHERE state <> 1").Scan(&pending); err != nil {
			return err
		}
		if pending == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
