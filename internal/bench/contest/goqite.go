package contest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	peer "maragu.dev/goqite"

	"github.com/sqloutbox/sqloutbox/dialect"
)

func goqiteAll() []Contestant {
	return []Contestant{{
		Name: "goqite", Kind: Peer, Module: "maragu.dev/goqite", Engines: []string{"sqlite", "postgres"},
		Settings: "one receiver, and on SQLite 8 where a publish takes time (more are slower: its transactions are serializable), asked again after 1 ms",
		Lacks:    "order; dead letters: what was received too often stays and is never received again; batches",
		Open:     openGoqite,
	}}
}

type goqiteSystem struct {
	*Place
	q *peer.Queue
}

func openGoqite(ctx context.Context, p *Place) (System, error) {
	flavor := map[string]peer.SQLFlavor{"sqlite": peer.SQLFlavorSQLite, "postgres": peer.SQLFlavorPostgreSQL}[p.Engine]
	if _, err := p.count(ctx, "SELECT COUNT(*) FROM goqite"); err != nil {
		if _, err := p.DB.ExecContext(ctx, goqiteSchema[p.Engine]); err != nil {
			return nil, fmt.Errorf("goqite's schema: %w", err)
		}
	}
	q := peer.New(peer.NewOpts{DB: p.DB, Name: Topic, MaxReceive: 1000, Timeout: time.Minute, SQLFlavor: flavor})
	return &goqiteSystem{p, q}, nil
}

func (s *goqiteSystem) Write(ctx context.Context, events []Event) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, Order); err != nil {
			return err
		}
		return s.send(ctx, tx, events)
	})
}

func (s *goqiteSystem) send(ctx context.Context, tx *sql.Tx, events []Event) error {
	for _, e := range events {
		if err := s.q.SendTx(ctx, tx, peer.Message{Body: e.Payload}); err != nil {
			return err
		}
	}
	return nil
}

// Fill inserts many rows at a time, which goqite itself does not.
func (s *goqiteSystem) Fill(ctx context.Context, b Batch) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		return b.Chunks(func(events []Event) error {
			args := make([]any, 0, 2*len(events))
			for _, e := range events {
				args = append(args, Topic, e.Payload)
			}
			text := "INSERT INTO goqite (queue, body) VALUES " + list("(?, ?)", len(events))
			_, err := tx.ExecContext(ctx, s.Dialect.Bind(text), args...)
			return err
		})
	})
}

func (s *goqiteSystem) Start(ctx context.Context, sink *Sink, t Tuning) (func() error, error) {
	receivers, wait := 1, time.Millisecond
	if s.Engine == "sqlite" && sink.Work > 0 {
		receivers = 8
	}
	if t.Defaults {
		receivers, wait = 1, 100*time.Millisecond // as its jobs do
	}
	return run(ctx, func(ctx context.Context) error {
		var all sync.WaitGroup
		errs := make([]error, receivers)
		for i := range receivers {
			all.Go(func() { errs[i] = s.receive(ctx, sink, wait) })
		}
		all.Wait()
		return errors.Join(errs...)
	}), nil
}

func (s *goqiteSystem) receive(ctx context.Context, sink *Sink, wait time.Duration) error {
	whole := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		m, err := s.q.Receive(whole)
		switch {
		case s.Dialect.Classify(err) == dialect.Conflict:
			continue // its transactions are serializable: receivers side by side fail, and are to try again
		case err != nil:
			return fmt.Errorf("receive: %w", err)
		case m == nil:
			time.Sleep(wait)
			continue
		}
		sink.Deliver(m.Body)
		if err := s.remove(whole, m.ID); err != nil {
			return fmt.Errorf("delete: %w", err)
		}
	}
	return nil
}

func (s *goqiteSystem) remove(ctx context.Context, id peer.ID) error {
	for {
		err := s.q.Delete(ctx, id)
		if s.Dialect.Classify(err) != dialect.Conflict {
			return err
		}
	}
}

func (s *goqiteSystem) Left(ctx context.Context) (int, error) {
	return s.count(ctx, "SELECT COUNT(*) FROM goqite")
}

func (s *goqiteSystem) Clear(ctx context.Context) error { return s.empty(ctx, "goqite") }

func (s *goqiteSystem) Close() error { return nil }
