package contest

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// openRiverPgx gives river a pool of pgx's own, as large as the others'.
func openRiverPgx(ctx context.Context, p *Place) (System, error) {
	config, err := pgxpool.ParseConfig(p.URL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = connections
	if p.Counter != nil {
		config.ConnConfig.Tracer = tracer{p.Counter}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("pgx pool: %w", err)
	}
	inTx := func(ctx context.Context, f func(pgx.Tx) error) error { return pgx.BeginFunc(ctx, pool, f) }
	s, err := openRiver(ctx, p, riverpgxv5.New(pool), inTx, func(ctx context.Context, tx pgx.Tx, text string) error {
		_, err := tx.Exec(ctx, text)
		return err
	})
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.close = pool.Close
	return s, nil
}

// tracer counts what pgx sends.
type tracer struct{ *Counter }

func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	_ = t.add(q.SQL)
	return ctx
}

func (t tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
