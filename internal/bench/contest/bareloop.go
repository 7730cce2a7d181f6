package contest

import (
	"context"
	"database/sql"
)

// step hands on a batch: read, deliver, delete.
func (s *bareSystem) step(ctx context.Context, sink *Sink, batch int) (n int, err error) {
	if !s.claims {
		return s.batch(ctx, s.DB, sink, batch)
	}
	tx, err := s.DB.BeginTx(ctx, &sql.TxOptions{Isolation: s.level})
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }()
	if n, err = s.batch(ctx, tx, sink, batch); err != nil {
		return 0, err
	}
	return n, tx.Commit()
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (s *bareSystem) batch(ctx context.Context, q queryer, sink *Sink, batch int) (int, error) {
	rows, err := q.QueryContext(ctx, s.read, batch)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var seqs []any
	var payloads [][]byte
	for rows.Next() {
		var seq int64
		var id, topic, key string
		var headers, payload []byte
		if err := rows.Scan(&seq, &id, &topic, &key, &headers, &payload); err != nil {
			return 0, err
		}
		seqs, payloads = append(seqs, seq), append(payloads, payload)
	}
	if err := rows.Close(); err != nil {
		return 0, err
	}
	if err := rows.Err(); err != nil || len(seqs) == 0 {
		return 0, err
	}
	for _, payload := range payloads {
		sink.Deliver(payload)
	}
	text := "DELETE FROM outbox_events WHERE seq IN (" + list("?", len(seqs)) + ")"
	_, err = q.ExecContext(ctx, s.Dialect.Bind(text), seqs...)
	return len(seqs), err
}
