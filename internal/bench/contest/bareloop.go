package contest

import (
	"context"
	"database/sql"
	"slices"

	"github.com/google/uuid"
)

// bareStep hands on a batch, and answers how many it was.
type bareStep func(s *bareSystem, ctx context.Context, sink *Sink, batch int) (int, error)

// readStep: read, deliver, delete.
func (s *bareSystem) readStep(ctx context.Context, sink *Sink, batch int) (int, error) {
	return s.batch(ctx, s.DB, s.read, sink, batch)
}

// lockStep does it in one transaction, which keeps others off.
func (s *bareSystem) lockStep(ctx context.Context, sink *Sink, batch int) (n int, err error) {
	err = s.inLevel(ctx, func(tx *sql.Tx) error {
		n, err = s.batch(ctx, tx, s.lock, sink, batch)
		return err
	})
	return n, err
}

// leaseStep keeps others off by what it writes, for as long as that says, and so without a transaction while it delivers.
func (s *bareSystem) leaseStep(ctx context.Context, sink *Sink, batch int) (int, error) {
	var seqs []any
	var payloads [][]byte
	id := uuid.NewString()
	err := s.inLevel(ctx, func(tx *sql.Tx) (err error) {
		if seqs, payloads, err = readBatch(ctx, tx, s.due, batch); err != nil || len(seqs) == 0 {
			return err
		}
		_, err = tx.ExecContext(ctx, s.Dialect.Bind(s.lease+list("?", len(seqs))+")"), slices.Concat([]any{id}, seqs)...)
		return err
	})
	if err != nil || len(seqs) == 0 {
		return 0, err
	}
	for _, payload := range payloads {
		sink.Deliver(payload)
	}
	text := "DELETE FROM outbox_events WHERE claimed_by = ? AND seq IN (" + list("?", len(seqs)) + ")"
	_, err = s.DB.ExecContext(ctx, s.Dialect.Bind(text), slices.Concat([]any{id}, seqs)...)
	return len(seqs), err
}

func (s *bareSystem) inLevel(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := s.DB.BeginTx(ctx, &sql.TxOptions{Isolation: s.level})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (s *bareSystem) batch(ctx context.Context, q queryer, read string, sink *Sink, batch int) (int, error) {
	seqs, payloads, err := readBatch(ctx, q, read, batch)
	if err != nil || len(seqs) == 0 {
		return 0, err
	}
	for _, payload := range payloads {
		sink.Deliver(payload)
	}
	text := "DELETE FROM outbox_events WHERE seq IN (" + list("?", len(seqs)) + ")"
	_, err = q.ExecContext(ctx, s.Dialect.Bind(text), seqs...)
	return len(seqs), err
}

func readBatch(ctx context.Context, q queryer, read string, batch int) (seqs []any, payloads [][]byte, err error) {
	rows, err := q.QueryContext(ctx, read, batch)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var id, topic, key string
		var headers, payload []byte
		if err := rows.Scan(&seq, &id, &topic, &key, &headers, &payload); err != nil {
			return nil, nil, err
		}
		seqs, payloads = append(seqs, seq), append(payloads, payload)
	}
	if err := rows.Close(); err != nil {
		return nil, nil, err
	}
	return seqs, payloads, rows.Err()
}
