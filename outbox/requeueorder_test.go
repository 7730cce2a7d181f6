package outbox_test

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// More than a step, named in the order in which a list shows them, newest first. A relay publishes what the first step has put
// back beside the next ones.
func TestWhatIsRequeuedComesBackFromTheOldestOn(t *testing.T) {
	const n = 1200
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d := e.Migrated(t)
		for i := range n {
			_, err := db.Exec(d.Bind("INSERT INTO outbox_events (id, topic, event_key, payload, state) VALUES (?, 't', 'k', '', 2)"), fmt.Sprint("e", i))
			if err != nil {
				t.Fatal(err)
			}
		}
		steps := 0
		hooked := hookdb.Open(db, hookdb.Hooks{After: func(query string) error {
			if query != hookdb.Commit {
				return nil
			}
			var back, dead sql.NullInt64
			if err := db.QueryRow("SELECT (SELECT MAX(seq) FROM outbox_events WHERE state = 0), (SELECT MIN(seq) FROM outbox_events WHERE state = 2)").Scan(&back, &dead); err != nil {
				t.Error(err)
			}
			if steps++; back.Valid && dead.Valid && back.Int64 > dead.Int64 {
				t.Errorf("step %d: %d is back, and %d is not", steps, back.Int64, dead.Int64)
			}
			return nil
		}})
		defer hooked.Close()
		o, err := outbox.New(hooked, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprint("e", i))
		}
		slices.Reverse(ids)
		if got, err := o.Requeue(t.Context(), ids...); got != n || err != nil || steps < 2 {
			t.Errorf("%d requeued in %d steps, %v", got, steps, err)
		}
	})
}
