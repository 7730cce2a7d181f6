// Webhooks is a shop that tells others what happens: two subscribers get its events over HTTP, signed, each at its own pace,
// and a reader of the feed is stopped half-way and goes on where it was:
//
//	go run ./examples/webhooks                     # on SQLite, in a temporary directory
//	go run ./examples/webhooks -db postgres://…    # on any engine
//
// The first subscriber wants orders, one after the other; it is down at first, so that the first try fails. The second one
// wants everything, and refuses what it has not verified. shop.go holds the service, subscriber.go what a receiver does,
// reader.go the reader of the feed.
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
)

func main() {
	url := flag.String("db", "", "database `URL` (default: SQLite in a temporary directory)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *url, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "webhooks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url string, out io.Writer) (err error) {
	if url == "" {
		dir, err := os.MkdirTemp("", "sqloutbox-webhooks-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		url = "sqlite:" + filepath.Join(dir, "shop.db")
	}
	s, err := openShop(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove(context.WithoutCancel(ctx))) }()

	warehouse, audit := newSubscriber(1), newSubscriber(0)
	defer warehouse.server.Close()
	defer audit.server.Close()
	if err := s.subscribe(ctx, "warehouse", warehouse, true, "orders.*"); err != nil {
		return err
	}
	if err := s.subscribe(ctx, "audit", audit, false, "*"); err != nil {
		return err
	}
	stop := s.start(ctx)
	if err := errors.Join(s.sell(ctx, 6), s.awaitDeliveries(ctx, 12)); err != nil {
		return errors.Join(err, stop())
	}
	first, err := s.readFeed(ctx, 4) // and then it is stopped
	if err == nil {
		err = errors.Join(s.sell(ctx, 2), s.awaitDeliveries(ctx, 16))
	}
	second, rest := s.readFeed(ctx, 8)
	if err := errors.Join(err, rest, stop()); err != nil {
		return err
	}
	fmt.Fprintln(out, "the warehouse got", warehouse)
	fmt.Fprintln(out, "the audit got    ", audit)
	fmt.Fprintln(out, "the reader got   ", first, "and when it came back", second)
	return s.report(ctx, out)
}
