package contest

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
)

func riverAll() []Contestant {
	const lacks = "order between jobs; it keeps completed jobs, and cleans them up later"
	return []Contestant{{
		Name: "river pgx", Kind: Peer, Module: "github.com/riverqueue/river", Engines: []string{"postgres"},
		Settings: "native pgx, 1,000 workers, fetch cooldown 1 ms", Lacks: lacks, Open: openRiverPgx,
	}, {
		Name: "river sql", Kind: Peer, Module: "github.com/riverqueue/river", Engines: []string{"postgres", "sqlite"},
		Settings: "database/sql, 1,000 workers, fetch cooldown and poll 1 ms; on SQLite one connection, as it advises", Lacks: lacks,
		Open: openRiverSQL,
	}}
}

func openRiverSQL(ctx context.Context, p *Place) (System, error) {
	var driver riverdriver.Driver[*sql.Tx] = riverdatabasesql.New(p.DB)
	if p.Engine == "sqlite" {
		p.DB.SetMaxOpenConns(1)
		driver = riversqlite.New(p.DB)
	}
	return openRiver(ctx, p, driver, p.inTx, func(ctx context.Context, tx *sql.Tx, text string) error {
		_, err := tx.ExecContext(ctx, text)
		return err
	})
}

// riverSystem is river on a driver, whose transactions are of its own type.
type riverSystem[Tx any] struct {
	*Place
	driver riverdriver.Driver[Tx]
	client *river.Client[Tx] // inserts
	inTx   func(context.Context, func(Tx) error) error
	exec   func(context.Context, Tx, string) error
	close  func() // set by drivers with a pool of their own
}

// riverArgs are a job's arguments, kept as JSON.
type riverArgs struct {
	Payload string `json:"payload"`
}

// Kind names the job.
func (riverArgs) Kind() string { return Topic }

func openRiver[Tx any](ctx context.Context, p *Place, driver riverdriver.Driver[Tx],
	inTx func(context.Context, func(Tx) error) error, exec func(context.Context, Tx, string) error) (*riverSystem[Tx], error) {
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	client, err := river.NewClient(driver, &river.Config{Logger: slog.New(slog.DiscardHandler)})
	return &riverSystem[Tx]{Place: p, driver: driver, client: client, inTx: inTx, exec: exec}, err
}

func (s *riverSystem[Tx]) Write(ctx context.Context, events []Event) error {
	return s.inTx(ctx, func(tx Tx) error {
		if err := s.exec(ctx, tx, Order); err != nil {
			return err
		}
		if len(events) == 1 {
			_, err := s.client.InsertTx(ctx, tx, riverArgs{string(events[0].Payload)}, nil)
			return err
		}
		return s.insert(ctx, tx, events)
	})
}

func (s *riverSystem[Tx]) insert(ctx context.Context, tx Tx, events []Event) error {
	jobs := make([]river.InsertManyParams, len(events))
	for i, e := range events {
		jobs[i].Args = riverArgs{string(e.Payload)}
	}
	_, err := s.client.InsertManyFastTx(ctx, tx, jobs)
	return err
}

func (s *riverSystem[Tx]) Fill(ctx context.Context, b Batch) error {
	return s.inTx(ctx, func(tx Tx) error {
		return b.Chunks(func(events []Event) error { return s.insert(ctx, tx, events) })
	})
}

func (s *riverSystem[Tx]) Start(ctx context.Context, sink *Sink, t Tuning) (func() error, error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(_ context.Context, job *river.Job[riverArgs]) error {
		sink.Deliver([]byte(job.Args.Payload))
		return nil
	}))
	config := &river.Config{
		Workers: workers, Logger: slog.New(slog.DiscardHandler),
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1000}},
		FetchCooldown: time.Millisecond, FetchPollInterval: time.Millisecond, JobTimeout: -1,
	}
	if t.Defaults {
		config.FetchCooldown, config.FetchPollInterval, config.JobTimeout = 0, 0, 0
		config.Queues[river.QueueDefault] = river.QueueConfig{MaxWorkers: 100} // as in its README
	}
	client, err := river.NewClient(s.driver, config)
	if err != nil {
		return nil, err
	}
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return ended(client.Stop(ctx))
	}, nil
}

// ended leaves out what a stop itself brings about.
func ended(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (s *riverSystem[Tx]) Left(ctx context.Context) (int, error) {
	return s.count(ctx, "SELECT COUNT(*) FROM river_job WHERE state <> 'completed'")
}

func (s *riverSystem[Tx]) Clear(ctx context.Context) error { return s.empty(ctx, "river_job") }

func (s *riverSystem[Tx]) Close() error {
	if s.close != nil {
		s.close()
	}
	return nil
}
