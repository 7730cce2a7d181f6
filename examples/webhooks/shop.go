package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// prefix keeps this program's outbox apart from one that -db may lead to.
const prefix = "webhooks_outbox_"

// shop is the service: an outbox with a feed, a relay that numbers what it publishes, and webhooks.
type shop struct {
	db    *sql.DB
	d     dialect.Dialect
	box   *outbox.Outbox
	hooks *webhook.Webhooks
	relay *relay.Relay
	sold  int
}

func openShop(ctx context.Context, url string) (*shop, error) {
	db, d, err := all.Open(url)
	if err != nil {
		return nil, err
	}
	s := &shop{db: db, d: d}
	if err := s.create(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *shop) create(ctx context.Context) (err error) {
	if err := migrations.Up(ctx, s.db, s.d, &migrations.Options{Prefix: prefix}); err != nil {
		return err
	}
	if s.box, err = outbox.New(s.db, s.d, &outbox.Options{Prefix: prefix, Feed: true}); err != nil {
		return err
	}
	s.hooks, err = webhook.New(s.box, &webhook.Options{
		AllowHTTP: true, AllowPrivate: true, // its subscribers are in this process; in a service both stay false
		Schedule: []time.Duration{50 * time.Millisecond, time.Second, time.Minute},
	})
	if err != nil {
		return err
	}
	nowhere := relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }) // webhooks are all that is wanted
	s.relay, err = relay.New(s.box, nowhere, &relay.Options{
		Order: relay.OrderTotal, Retention: 24 * time.Hour,
		Observers: []relay.Observer{s.hooks}, // what is published goes out at once
	})
	return err
}

// subscribe gives a subscriber its secret, and what it wants.
func (s *shop) subscribe(ctx context.Context, name string, to *subscriber, ordered bool, topics ...string) error {
	secret := webhook.NewSecret()
	to.trust(secret) // before the first request comes
	_, err := s.hooks.Create(ctx, webhook.Subscription{Name: name, URL: to.server.URL, Topics: topics, Ordered: ordered}, secret)
	return err
}

// start runs the relay and the webhooks until stop is called, which answers what they have ended with.
func (s *shop) start(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- s.relay.Run(ctx) }()
	go func() { ended <- s.hooks.Run(ctx) }()
	return func() error {
		cancel()
		return errors.Join(<-ended, <-ended)
	}
}

// sell writes an order and a visit, n times; a real service changes tables of its own in the same transactions.
func (s *shop) sell(ctx context.Context, n int) error {
	for range n {
		s.sold++
		err := s.box.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := s.box.Write(ctx, tx,
				outbox.Event{Topic: "orders.placed", Payload: fmt.Appendf(nil, `{"order":%d}`, s.sold)},
				outbox.Event{Topic: "visits", Payload: fmt.Appendf(nil, `{"visit":%d}`, s.sold)})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitDeliveries waits until both have what is theirs of so many events: all, and the orders among them.
func (s *shop) awaitDeliveries(ctx context.Context, events int64) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		all, err := s.hooks.Subscriptions(ctx)
		if err != nil {
			return err
		}
		if all[0].Done == events && all[1].Done == events/2 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not all is delivered: %+v: %w", all, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *shop) report(ctx context.Context, out io.Writer) error {
	all, err := s.hooks.Subscriptions(ctx)
	for _, i := range all {
		fmt.Fprintf(out, "%-9s %s: %d delivered, %d dead\n", i.Name, i.State, i.Done, i.Dead)
	}
	return err
}

// remove drops what create made.
func (s *shop) remove(ctx context.Context) error {
	return errors.Join(migrations.Down(ctx, s.db, s.d, &migrations.Options{Prefix: prefix}), s.db.Close())
}
