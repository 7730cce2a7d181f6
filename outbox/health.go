package outbox

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// HealthOptions say what Health puts up with. The zero value means the defaults.
type HealthOptions struct {
	// MaxLag is for how long an event may be due while no relay records an outcome; default DefaultMaxLag.
	MaxLag time.Duration
}

// DefaultMaxLag is HealthOptions.MaxLag unless it is set: longer than relay.OrderTotal stands still for its longest
// backoff.
const DefaultMaxLag = 10 * time.Minute

// UnhealthyError says what Health has found.
type UnhealthyError struct {
	Topic       string        // of the event that has been due for longest; empty: of paused topics, see Health
	DueFor      time.Duration // for how long it has been due
	LastOutcome time.Time     // when a relay last recorded an outcome; zero: never
	Relays      int           // how many live
}

func (e *UnhealthyError) Error() string {
	recorded := "no relay has ever recorded an outcome"
	if !e.LastOutcome.IsZero() {
		recorded = "no relay has recorded an outcome since " + e.LastOutcome.UTC().Format(time.RFC3339)
	}
	advice := "no relay lives: start one"
	if e.Relays == 1 {
		advice = "1 relay lives: see its log"
	} else if e.Relays > 1 {
		advice = fmt.Sprintf("%d relays live: see their logs", e.Relays)
	}
	what := fmt.Sprintf("an event of topic %q has", e.Topic)
	if e.Topic == "" {
		what = "many events of paused topics, which a relay would have put aside, have"
	}
	return fmt.Sprintf("%v: %s been due for %v and %s; %s", ErrUnhealthy, what, e.DueFor.Round(time.Second), recorded, advice)
}

// Is makes errors.Is(err, ErrUnhealthy) true.
func (e *UnhealthyError) Is(target error) bool { return target == ErrUnhealthy }

// Each from the first entry of (state, due_ms, seq), which MIN might read to its end; see dueByTopic for the states.
const longestDue = `SELECT (SELECT due_ms FROM {events}{use_due} WHERE state = 0 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM {events}{use_due} WHERE state = 3 ORDER BY due_ms, seq LIMIT 1),
       (SELECT due_ms FROM {events}{use_due} WHERE state = 5 ORDER BY due_ms, seq LIMIT 1)`

// Health is an *UnhealthyError (ErrUnhealthy) if an event has been due for MaxLag and no relay has recorded an outcome for
// as long, nor was anything resumed: nothing is drained, whether no relay runs, or they hang, or can't reach the database.
// It is nil when nothing is due, or everything paused; and however far behind the relays are, as long as outcomes are
// recorded, failures among them: see Stats and Lag for those. An error of the database, or of ctx, is returned as it is,
// wrapped.
//
// While all is well it costs a few looks. When nothing is recorded it looks at the LagSample oldest due events for one
// that isn't paused. If there are so many and all are paused, no relay has put them aside as it should: that too is an
// *UnhealthyError, without a Topic.
func (o *Outbox) Health(ctx context.Context, opts HealthOptions) error {
	if opts.MaxLag < 0 {
		return fmt.Errorf("health: %w: MaxLag %v: must not be negative", ErrInvalidOptions, opts.MaxLag)
	}
	if opts.MaxLag == 0 {
		opts.MaxLag = DefaultMaxLag
	}
	if err := o.health(ctx, opts.MaxLag); err != nil {
		return fmt.Errorf("health: %w", err)
	}
	return nil
}

func (o *Outbox) health(ctx context.Context, maxLag time.Duration) error {
	q, end, err := o.reading(ctx)
	if err != nil {
		return err
	}
	defer end()
	now, err := o.clock(ctx, q)
	if err != nil {
		return err
	}
	limit := now.Add(-maxLag)
	due, err := o.longestDue(ctx, q)
	if err != nil {
		return fmt.Errorf("find what is due: %w", err)
	}
	if due.After(limit) {
		return nil
	}
	c, err := o.counters(ctx, q)
	if err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	alive, err := o.relays(ctx, q)
	if err != nil {
		return fmt.Errorf("relays: %w", err)
	}
	if c.drained.Add(recordedLate(alive)).After(limit) || c.resumed.After(limit) {
		return nil
	}
	pauses, err := o.pauses(ctx, q)
	if err != nil {
		return fmt.Errorf("pauses: %w", err)
	}
	if allPaused(pauses) {
		return nil
	}
	lags, full, err := o.dueByTopic(ctx, q, now, limit, pauses)
	if err != nil {
		return fmt.Errorf("find what is due: %w", err)
	}
	found := &UnhealthyError{DueFor: now.Sub(due), LastOutcome: c.drained, Relays: len(alive)}
	switch {
	case len(lags) > 0:
		found.Topic, found.DueFor = lags[0].Topic, lags[0].Oldest
	case !full:
		return nil // what is due is paused, or was taken meanwhile
	}
	return found
}

// longestDue is since when the event is due that was due first, paused or not; far ahead if there is none.
func (o *Outbox) longestDue(ctx context.Context, q rows.Queryer) (time.Time, error) {
	var of [3]sql.NullInt64
	if err := rows.One(ctx, q, o.sql.SQL(longestDue), nil, &of[0], &of[1], &of[2]); err != nil {
		return time.Time{}, err
	}
	first := int64(math.MaxInt64)
	for _, due := range of {
		if due.Valid {
			first = min(first, due.Int64)
		}
	}
	return time.UnixMilli(first), nil
}

// recordedLate is how late the relays may be in saying that they have recorded an outcome: they say so with their signs
// of life, each third of a lease.
func recordedLate(alive []livingRelay) time.Duration {
	var late time.Duration
	for _, r := range alive {
		late = max(late, r.lease/3)
	}
	return late
}
