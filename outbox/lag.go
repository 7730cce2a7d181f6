package outbox

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// TopicLag is how far the relays are behind with a topic.
type TopicLag struct {
	Topic  string
	Oldest time.Duration // for how long its oldest due event has been due
	Due    int64         // how many of the events that Lag looks at are of this topic
}

// The oldest due ones of each state that an event can be due in, by (state, due_ms, seq), with a look at the row of
// each for its topic. Scheduled events are among them: they stay so while no relay makes them pending.
const dueByTopic = `SELECT state, topic, COUNT(*), MIN(due_ms) FROM (
  SELECT * FROM (SELECT state, topic, due_ms FROM {events}{use_due} WHERE state = 0 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?) pending
  UNION ALL
  SELECT * FROM (SELECT state, topic, due_ms FROM {events}{use_due} WHERE state = 3 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?) scheduled
  UNION ALL
  SELECT * FROM (SELECT state, topic, due_ms FROM {events}{use_due} WHERE state = 5 AND due_ms <= ? ORDER BY due_ms, seq LIMIT ?) waiting
) due GROUP BY state, topic`

// LagSample bounds what Lag looks at.
const LagSample = 10_000

// Lag is how far the relays are behind, the topic with the oldest due event first. It looks at the LagSample oldest of
// what is due for the first time, of what was delayed, and of what is due for another try, so that its cost is bounded;
// with more than that due, Due is less than there is, and a topic whose events are all younger is missing. What waits
// behind another event of its key counts when its turn comes. Paused topics are left out.
func (o *Outbox) Lag(ctx context.Context) ([]TopicLag, error) {
	lags, err := o.lag(ctx)
	if err != nil {
		return nil, fmt.Errorf("lag: %w", err)
	}
	return lags, nil
}

func (o *Outbox) lag(ctx context.Context) (lags []TopicLag, err error) {
	q, end, err := o.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	pauses, err := o.pauses(ctx, q)
	if err != nil || allPaused(pauses) {
		return nil, err
	}
	now, err := o.clock(ctx, q)
	if err != nil {
		return nil, err
	}
	lags, _, err = o.dueByTopic(ctx, q, now, now, pauses)
	return lags, err
}

// dueByTopic is Lag at now, of what was due at limit already. full means that there is more of a state than LagSample.
func (o *Outbox) dueByTopic(ctx context.Context, q rows.Queryer, now, limit time.Time, pauses []Pause) (lags []TopicLag, full bool, err error) {
	at, sample := limit.UnixMilli(), int64(LagSample)
	byTopic := make(map[string]TopicLag)
	looked := make(map[int64]int64) // by state
	err = rows.Each(ctx, q, o.sql.SQL(dueByTopic), []any{at, sample, at, sample, at, sample}, func(row *sql.Rows) error {
		var topic string
		var state, n, due int64
		if err := row.Scan(&state, &topic, &n, &due); err != nil {
			return err
		}
		looked[state] += n
		full = full || looked[state] >= sample
		if isPaused(pauses, topic) {
			return nil
		}
		l := byTopic[topic]
		byTopic[topic] = TopicLag{topic, max(l.Oldest, now.Sub(time.UnixMilli(due))), l.Due + n}
		return nil
	})
	lags = slices.SortedFunc(maps.Values(byTopic), func(a, b TopicLag) int {
		return cmp.Or(cmp.Compare(b.Oldest, a.Oldest), strings.Compare(a.Topic, b.Topic))
	})
	return lags, full, err
}
