package contest

import (
	"context"
	"database/sql"
	"errors"

	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func ours() []Contestant {
	var all []Contestant
	for _, o := range []struct {
		name  string
		order relay.Order
	}{{"sqloutbox total", relay.OrderTotal}, {"sqloutbox per key", relay.OrderPerKey}, {"sqloutbox none", relay.OrderNone}} {
		all = append(all, Contestant{
			Name: o.name, Kind: Ours, Settings: "retention 0; a batch publisher where a publish takes no time",
			Open: func(ctx context.Context, p *Place) (System, error) { return openOurs(ctx, p, o.order, false) },
		})
	}
	return append(all, Contestant{
		Name: "sqloutbox SkipTxCheck", Kind: Ours, Settings: "SkipTxCheck", Lacks: "the ghost check",
		Open: func(ctx context.Context, p *Place) (System, error) { return openOurs(ctx, p, relay.OrderPerKey, true) },
	})
}

type oursSystem struct {
	*Place
	order relay.Order
	box   *outbox.Outbox
}

func openOurs(ctx context.Context, p *Place, order relay.Order, skip bool) (System, error) {
	if err := migrations.Up(ctx, p.DB, p.Dialect, nil); err != nil {
		return nil, err
	}
	box, err := outbox.New(p.DB, p.Dialect, &outbox.Options{SkipTxCheck: skip})
	if err != nil {
		return nil, err
	}
	return &oursSystem{p, order, box}, nil
}

func (s *oursSystem) Write(ctx context.Context, events []Event) error {
	return s.box.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, Order); err != nil {
			return err
		}
		return s.Insert(ctx, tx, events)
	})
}

// Insert is Write alone, in a transaction of the caller's.
func (s *oursSystem) Insert(ctx context.Context, tx *sql.Tx, events []Event) error {
	all := make([]outbox.Event, len(events))
	for i, e := range events {
		all[i] = outbox.Event{Topic: Topic, Key: e.Key, Payload: e.Payload}
	}
	_, err := s.box.Write(ctx, tx, all...)
	return err
}

func (s *oursSystem) Fill(ctx context.Context, b Batch) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		return b.Chunks(func(events []Event) error { return s.Insert(ctx, tx, events) })
	})
	if err == nil {
		s.box.Wake()
	}
	return err
}

func (s *oursSystem) Start(ctx context.Context, sink *Sink, t Tuning) (func() error, error) {
	opts := relay.Options{Order: s.order, Batch: t.Batch, Poll: t.Poll, Lease: t.Lease, BatchInOrder: s.order == relay.OrderPerKey}
	if s.order != relay.OrderTotal {
		opts.Concurrency = t.Concurrency
	}
	if t.Defaults {
		opts = relay.Options{Order: s.order}
	}
	r, err := relay.New(s.box, publisher(sink), &opts)
	if err != nil {
		return nil, err
	}
	return run(ctx, r.Run), nil
}

// publisher takes whole batches where a publish takes no time: only then is there nothing to win by making several at once.
func publisher(sink *Sink) relay.Publisher {
	one := relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
		sink.Deliver(m.Payload)
		return nil
	})
	if sink.Work > 0 {
		return one
	}
	return batches{one, sink}
}

// batches is a BatchPublisher.
type batches struct {
	relay.Publisher
	sink *Sink
}

// PublishBatch hands all of it on.
func (b batches) PublishBatch(_ context.Context, ms []relay.Message) []error {
	for i := range ms {
		b.sink.Deliver(ms[i].Payload)
	}
	return make([]error, len(ms))
}

// run runs f beside the caller until it is stopped.
func run(ctx context.Context, f func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	return func() error {
		cancel()
		err := <-ended
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
}

// Shares is how many partitions each relay has, of those that live.
func (s *oursSystem) Shares(ctx context.Context) ([]int, error) {
	relays, err := s.box.Relays(ctx)
	var shares []int
	for _, r := range relays {
		shares = append(shares, len(r.Partitions))
	}
	return shares, err
}

func (s *oursSystem) Left(ctx context.Context) (int, error) {
	return s.count(ctx, "SELECT COUNT(*) FROM outbox_events WHERE state IN (0, 4, 5)")
}

func (s *oursSystem) Clear(ctx context.Context) error {
	return s.empty(ctx, "outbox_events", "outbox_held")
}

func (s *oursSystem) Close() error { return nil }
