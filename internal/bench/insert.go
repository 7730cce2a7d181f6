package bench

import (
	"context"
	"database/sql"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/bench/contest"
)

// What Write costs in a transaction of the caller's, beside a hand-written INSERT of the same rows. Nothing is committed,
// since a commit would hide it.
func insertScenarios() []Scenario {
	one := func(name, title string, events int) Scenario {
		return Scenario{
			Name: name, Title: title, Metric: "time", Unit: "µs", Lower: true, Times: 4,
			Entrants: func(engine string, s Sizes) []Entrant {
				calls := max(3, s.Inserts/events)
				if events == 1 {
					calls = s.Inserts
				}
				return chosen(engine, func(ctx context.Context, l *Lane) (Values, error) {
					return inserting(ctx, l, calls, events)
				}, named(perKey, skipCheck, bareRead))
			},
		}
	}
	return []Scenario{
		one("insert 1", "One Write of one event in the caller's transaction", 1),
		one("insert 100", "One Write of 100 events in the caller's transaction", 100),
	}
}

// inserter is what can write in a transaction of the caller's.
type inserter interface {
	Insert(ctx context.Context, tx *sql.Tx, events []contest.Event) error
}

// inserting times calls after a few that are not, and rolls all back.
func inserting(ctx context.Context, l *Lane, calls, events int) (Values, error) {
	in := l.System.(inserter)
	tx, err := l.Place.DB.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	b := contest.Batch{Size: l.Sizes.Payload, Keys: l.Sizes.Keys}
	all := make([]contest.Event, events)
	var took time.Duration
	warm := min(calls, 10)
	for i := range warm + calls {
		for k := range all {
			all[k] = b.Event(i*events + k)
		}
		begin := time.Now()
		if err := in.Insert(ctx, tx, all); err != nil {
			return nil, err
		}
		if i >= warm {
			took += time.Since(begin)
		}
	}
	return Values{"time": took.Seconds() * 1e6 / float64(calls)}, tx.Rollback()
}
