package contest

import (
	"context"
	"fmt"
	"time"
)

// Keeper can be given rows that are not to be handed over now.
type Keeper interface {
	// Keep adds n rows in a state: published and kept, or scheduled for a day later.
	Keep(ctx context.Context, n int, as Kept) error
}

// Kept is what a row that is not due is.
type Kept int

const (
	Published Kept = iota
	Scheduled
)

// keepStep is how many rows a statement makes.
const keepStep = 10_000

// keepRows takes the state, when it is due, when it was settled, the first number and the limit.
const keepRows = `INSERT INTO outbox_events (id, topic, event_key, partition_no, payload, state, due_ms, settled_ms)
  WITH digits (d) AS (SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
            UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9),
       numbers (i) AS (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d FROM digits a, digits b, digits c, digits d)
SELECT CONCAT('kept-', i + %[4]d), 'bench', CONCAT('key-', i %% 1000), i %% 64, ?, %[1]d, %[2]d, %[3]d
  FROM numbers WHERE i < %[5]d`

// Keep implements Keeper.
func (s *oursSystem) Keep(ctx context.Context, n int, as Kept) error {
	now := time.Now().UnixMilli()
	state, due, settled := 1, now, now
	if as == Scheduled {
		state, due, settled = 3, now+time.Hour.Milliseconds()*24, 0
	}
	payload := Batch{Size: 256}.Event(0).Payload
	for done := 0; done < n; done += keepStep {
		text := fmt.Sprintf(keepRows, state, due, settled, done, min(keepStep, n-done))
		if _, err := s.DB.ExecContext(ctx, s.Dialect.Bind(text), payload); err != nil {
			return fmt.Errorf("keep rows: %w", err)
		}
	}
	return nil
}
