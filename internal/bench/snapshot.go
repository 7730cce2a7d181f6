package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// Whether PostgreSQL's dead rows, which nothing can take away while a snapshot is held open, slow draining down: the rate
// of the last events beside that of the first.
func snapshotScenarios() []Scenario {
	return []Scenario{{
		Name: "snapshot", Title: "Draining with a snapshot held open: the last slice against the first",
		Metric: "last/first", Unit: "times", Engines: []string{"postgres"},
		Entrants: func(engine string, _ Sizes) []Entrant {
			return chosen(engine, snapshot, named(total, perKey, none, bareRead, bareClaim, "oagudo"))
		},
	}}
}

func snapshot(ctx context.Context, l *Lane) (v Values, err error) {
	s := l.Sizes
	if err := l.System.Clear(ctx); err != nil {
		return nil, err
	}
	if err := fill(ctx, l, 0, s.Snapshot, s.Payload, 0); err != nil {
		return nil, err
	}
	holder, err := contest.OpenPlace(l.Place.Engine, l.Place.URL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, holder.Close()) }()
	tx, err := holder.DB.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	var one int
	if err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM bench_orders").Scan(&one); err != nil {
		return nil, err
	}
	sink := &contest.Sink{Want: s.Snapshot, Each: s.SnapshotBy}
	l.Sizes.Limit *= 8 // a round is long
	v, err = drained(ctx, l, sink, contest.Tuning{})
	l.Sizes = s
	if err != nil {
		return nil, err
	}
	rates := sink.Rates()
	if all := s.Snapshot / s.SnapshotBy; len(rates) < all || all < 2 {
		return nil, fmt.Errorf("cut off after %d of %d slices", len(rates), all)
	}
	v["first slice"], v["last slice"], v["slices"] = rates[0], rates[len(rates)-1], float64(len(rates))
	v["last/first"] = rates[len(rates)-1] / rates[0]
	return v, check(ctx, l, s.Snapshot, v)
}
