package contest

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"
	peer "github.com/oagudo/outbox"
)

func oagudoAll() []Contestant {
	return []Contestant{{
		Name: "oagudo", Kind: Peer, Module: "github.com/oagudo/outbox",
		Settings: "interval 1 ms, reads and deletes as many at a time as we do, due two seconds before it is written (its times are compared by the second)",
		Lacks:    "a lease: several readers publish the same events; order of equal times; what keeps failing is deleted",
		Open:     openOagudo,
	}}
}

type oagudoSystem struct {
	*Place
	db *peer.DBContext
	w  *peer.Writer
}

func openOagudo(ctx context.Context, p *Place) (System, error) {
	for _, statement := range oagudoSchema[p.Engine] {
		if _, err := p.DB.ExecContext(ctx, statement); err != nil {
			return nil, fmt.Errorf("oagudo's schema: %w", err)
		}
	}
	db := peer.NewDBContext(p.DB, peer.SQLDialect(p.Engine))
	return &oagudoSystem{p, db, peer.NewWriter(db)}, nil
}

func message(e Event) *peer.Message {
	return peer.NewMessage(e.Payload, peer.WithScheduledAt(time.Now().UTC().Add(-2*time.Second)))
}

func (s *oagudoSystem) Write(ctx context.Context, events []Event) error {
	if len(events) != 1 {
		return ErrUnsupported // a transaction holds one message
	}
	return s.w.Write(ctx, message(events[0]), func(ctx context.Context, tx peer.TxQueryer) error {
		_, err := tx.ExecContext(ctx, Order)
		return err
	})
}

// Fill inserts as its writer does, many rows at a time.
func (s *oagudoSystem) Fill(ctx context.Context, b Batch) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		return b.Chunks(func(events []Event) error {
			args := make([]any, 0, 6*len(events))
			for _, e := range events {
				m := message(e)
				args = append(args, s.id(m.ID), m.CreatedAt, m.ScheduledAt, []byte(nil), m.Payload, 0)
			}
			text := "INSERT INTO outbox (id, created_at, scheduled_at, metadata, payload, times_attempted) VALUES " +
				list("(?, ?, ?, ?, ?, ?)", len(events))
			_, err := tx.ExecContext(ctx, s.Dialect.Bind(text), args...)
			return err
		})
	})
}

// id is an id as its writer gives it to the engine.
func (s *oagudoSystem) id(id uuid.UUID) any {
	switch s.Engine {
	case "mysql":
		return id[:]
	case "sqlite":
		return id.String()
	}
	return id
}

func (s *oagudoSystem) Start(_ context.Context, sink *Sink, t Tuning) (func() error, error) {
	opts := []peer.ReaderOption{
		peer.WithInterval(time.Millisecond), peer.WithReadBatchSize(t.Batch), peer.WithDeleteBatchSize(t.Batch),
		peer.WithReadTimeout(time.Minute), peer.WithDeleteTimeout(time.Minute),
	}
	if t.Defaults {
		opts = nil
	}
	r := peer.NewReader(s.db, oagudoPublisher{sink}, opts...)
	r.Start()
	errs := make(chan error, 1)
	go func() { // its channels close when it has ended
		var first error
		for err := range r.Errors() {
			if first == nil {
				first = err
			}
		}
		errs <- first
	}()
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			return err
		}
		return ended(<-errs)
	}, nil
}

type oagudoPublisher struct{ sink *Sink }

func (p oagudoPublisher) Publish(_ context.Context, m *peer.Message) error {
	p.sink.Deliver(m.Payload)
	return nil
}

func (s *oagudoSystem) Left(ctx context.Context) (int, error) {
	return s.count(ctx, "SELECT COUNT(*) FROM outbox")
}

func (s *oagudoSystem) Clear(ctx context.Context) error { return s.empty(ctx, "outbox") }

func (s *oagudoSystem) Close() error { return nil }
