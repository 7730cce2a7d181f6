package contest

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
)

func bare() []Contestant {
	const lacks = "lease, order under failure, retries, dead letters, anything after a crash"
	one := func(name, settings, lacks string, step bareStep) Contestant {
		return Contestant{Name: name, Kind: Limit, Settings: settings, Lacks: lacks,
			Open: func(ctx context.Context, p *Place) (System, error) { return openBare(ctx, p, step) }}
	}
	return []Contestant{
		one("bare select+delete", "the shortest statements on our schema", lacks, (*bareSystem).readStep),
		one("bare claim+delete", "SELECT … FOR UPDATE SKIP LOCKED and DELETE in one transaction, READ COMMITTED", lacks, (*bareSystem).lockStep),
		one("bare lease+delete", "SELECT … FOR UPDATE SKIP LOCKED and an UPDATE of the rows in one transaction, READ COMMITTED; then DELETE",
			"retries, dead letters, crashes that are charged to their event", (*bareSystem).leaseStep),
	}
}

// bareSystem is what one would write by hand.
type bareSystem struct {
	*Place
	step  bareStep
	level sql.IsolationLevel // as one would choose it for SKIP LOCKED
	// The statements, and those of a lease.
	read, lock, due, lease string
}

func openBare(ctx context.Context, p *Place, step bareStep) (System, error) {
	if err := migrations.Up(ctx, p.DB, p.Dialect, nil); err != nil {
		return nil, err
	}
	level := sql.LevelReadCommitted
	if p.Engine == "sqlite" {
		level = sql.LevelDefault
	}
	d := p.Dialect
	const columns = "SELECT seq, id, topic, event_key, headers, payload FROM outbox_events "
	return &bareSystem{
		Place: p, step: step, level: level,
		read:  d.Bind(columns + "ORDER BY seq LIMIT ?"),
		lock:  d.Bind(columns + "ORDER BY seq LIMIT ?" + d.LockSkip()),
		due:   d.Bind(columns + "WHERE state = 0 AND due_ms <= (SELECT " + d.Clock() + ") ORDER BY due_ms, seq LIMIT ?" + d.LockSkip()),
		lease: "UPDATE outbox_events SET claimed_by = ?, due_ms = " + d.Clock() + " + 30000 WHERE seq IN (",
	}, nil
}

func (s *bareSystem) Write(ctx context.Context, events []Event) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, Order); err != nil {
			return err
		}
		return s.Insert(ctx, tx, events)
	})
}

// Insert is one INSERT of the same rows as the library's.
func (s *bareSystem) Insert(ctx context.Context, tx *sql.Tx, events []Event) error {
	args := make([]any, 0, 6*len(events))
	for i := range events {
		id, err := uuid.NewV7()
		if err != nil {
			return err
		}
		args = append(args, id.String(), Topic, events[i].Key, outbox.Partition(events[i].Key), []byte{}, events[i].Payload)
	}
	text := "INSERT INTO outbox_events (id, topic, event_key, partition_no, headers, payload) VALUES " +
		list("(?, ?, ?, ?, ?, ?)", len(events))
	_, err := tx.ExecContext(ctx, s.Dialect.Bind(text), args...)
	return err
}

func list(one string, n int) string { return one + strings.Repeat(", "+one, n-1) }

func (s *bareSystem) Fill(ctx context.Context, b Batch) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		return b.Chunks(func(events []Event) error {
			for len(events) > 0 { // SQLite and PostgreSQL bound the parameters of a statement
				n := min(100, len(events))
				if err := s.Insert(ctx, tx, events[:n]); err != nil {
					return err
				}
				events = events[n:]
			}
			return nil
		})
	})
}

// barePoll is how long it waits when there is nothing.
const barePoll = time.Millisecond

func (s *bareSystem) Start(ctx context.Context, sink *Sink, t Tuning) (func() error, error) {
	return run(ctx, func(ctx context.Context) error {
		for ctx.Err() == nil {
			n, err := s.step(s, context.WithoutCancel(ctx), sink, t.Batch)
			if err != nil {
				return err
			}
			if n == 0 {
				time.Sleep(barePoll)
			}
		}
		return nil
	}), nil
}

func (s *bareSystem) Left(ctx context.Context) (int, error) {
	return s.count(ctx, "SELECT COUNT(*) FROM outbox_events")
}

func (s *bareSystem) Clear(ctx context.Context) error { return s.empty(ctx, "outbox_events") }

func (s *bareSystem) Close() error { return nil }
