package contest

import (
	"context"
	stdsql "database/sql"
	"errors"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/components/forwarder"
	wm "github.com/ThreeDotsLabs/watermill/message"
)

func watermillAll() []Contestant {
	servers := []string{"postgres", "mysql"}
	return []Contestant{{
		Name: "watermill", Kind: Peer, Module: "github.com/ThreeDotsLabs/watermill-sql/v4", Engines: servers,
		Settings: "its default tables with offsets, forwarder, batches as ours, payload not JSON, polled after 1 ms",
		Lacks: "dead letters of its own; more than one reader at a time; it keeps all rows; on MySQL, events of " +
			"transactions that commit side by side were seen to be skipped for good",
		Open: func(ctx context.Context, p *Place) (System, error) { return openWatermill(ctx, p, false) },
	}, {
		Name: "watermill queue", Kind: Peer, Module: "github.com/ThreeDotsLabs/watermill-sql/v4", Engines: servers,
		Settings: "its queue tables, deleted on ack, forwarder, batches as ours, payload not JSON, polled after 1 ms",
		Lacks: "dead letters of its own; more than one reader at a time; " +
			"when it stops within a batch, the rest of the batch is deleted undelivered",
		Open: func(ctx context.Context, p *Place) (System, error) { return openWatermill(ctx, p, true) },
	}}
}

const watermillTopic = "forward"

type watermillSystem struct {
	*Place
	kit   watermillKit
	queue bool
}

// openWatermill takes a pool of its own: its JSON columns take no arguments that the driver puts into the text as bytes.
func openWatermill(_ context.Context, p *Place, queue bool) (System, error) {
	param := ""
	if p.Engine == "mysql" {
		param = "&interpolateParams=false"
	}
	own, err := p.another(param, p.Counter)
	if err != nil {
		return nil, err
	}
	s := &watermillSystem{own, kitFor(p.Engine, queue, 0), queue}
	sub, err := s.subscriber(Tuning{})
	if err == nil {
		err = errors.Join(sub.SubscribeInitialize(watermillTopic), sub.Close())
	}
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return s, nil
}

func (s *watermillSystem) Write(ctx context.Context, events []Event) error {
	return s.inTx(ctx, func(tx *stdsql.Tx) error {
		if _, err := tx.ExecContext(ctx, Order); err != nil {
			return err
		}
		return s.publish(ctx, tx, events)
	})
}

func (s *watermillSystem) publish(ctx context.Context, tx *stdsql.Tx, events []Event) error {
	pub, err := wsql.NewPublisher(wsql.TxFromStdSQL(tx), wsql.PublisherConfig{SchemaAdapter: s.kit.schema}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	messages := make([]*wm.Message, len(events))
	for i, e := range events {
		messages[i] = wm.NewMessageWithContext(ctx, watermill.NewUUID(), e.Payload)
	}
	return forwarder.NewPublisher(pub, forwarder.PublisherConfig{ForwarderTopic: watermillTopic}).Publish(Topic, messages...)
}

func (s *watermillSystem) Fill(ctx context.Context, b Batch) error {
	return s.inTx(ctx, func(tx *stdsql.Tx) error {
		return b.Chunks(func(events []Event) error { return s.publish(ctx, tx, events) })
	})
}

func (s *watermillSystem) Start(ctx context.Context, sink *Sink, t Tuning) (func() error, error) {
	sub, err := s.subscriber(t)
	if err != nil {
		return nil, err
	}
	f, err := forwarder.NewForwarder(sub, watermillPublisher{sink}, watermill.NopLogger{},
		forwarder.Config{ForwarderTopic: watermillTopic})
	if err != nil {
		return nil, err
	}
	wait := run(ctx, f.Run)
	return func() error { return errors.Join(f.Close(), sub.Close(), wait()) }, nil
}

// watermillPublisher is where the forwarder sends to.
type watermillPublisher struct{ sink *Sink }

func (p watermillPublisher) Publish(_ string, messages ...*wm.Message) error {
	for _, m := range messages {
		p.sink.Deliver(m.Payload)
	}
	return nil
}

func (p watermillPublisher) Close() error { return nil }

func (s *watermillSystem) Left(ctx context.Context) (int, error) {
	return s.count(ctx, s.kit.left)
}

func (s *watermillSystem) Clear(ctx context.Context) error { return s.empty(ctx, s.kit.tables...) }

func (s *watermillSystem) Close() error { return s.Place.Close() }
