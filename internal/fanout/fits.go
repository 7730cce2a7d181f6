package fanout

import (
	"context"
	"fmt"

	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// Expect counts the subscriptions where none is known, for Fits.
func (f *Fanout) Expect(ctx context.Context, q rows.Queryer) error {
	var n int
	if err := rows.One(ctx, q, f.sql.SQL(countSubscriptions), nil, &n); err != nil {
		return fmt.Errorf("count subscriptions: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.version == 0 {
		f.guess = n
	}
	return nil
}

// Fits answers how many of events with these topics, from the first one on, make no more than most deliveries; one at least.
// It goes by what is known: a Deliver that finds more subscriptions makes more.
func (f *Fanout) Fits(topics []string, most int) int {
	f.mu.Lock()
	known, guess := f.known, f.guess
	f.mu.Unlock()
	n := max(len(known), guess)
	if n*len(topics) <= most {
		return len(topics)
	}
	if guess > 0 {
		return min(max(most/guess, 1), len(topics))
	}
	total := 0
	for i, topic := range topics {
		for _, s := range known {
			if Match(s.patterns, topic) {
				total++
			}
		}
		if total > most && i > 0 {
			return i
		}
	}
	return len(topics)
}
