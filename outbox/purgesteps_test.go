package outbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// After a conflict a purge goes on in smaller steps, and in larger ones again when they get through.
func TestAPurgeThatMetAConflictGetsItsPaceBack(t *testing.T) {
	const n, fails = 4000, 6
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d := e.Migrated(t)
		for i := range n / 100 {
			var ids []any
			for j := range 100 {
				ids = append(ids, fmt.Sprint("e", 100*i+j))
			}
			insert := "INSERT INTO outbox_events (id, topic, payload, state, due_ms) VALUES (?, 't', '', 1, 1)" + strings.Repeat(", (?, 't', '', 1, 1)", 99)
			if _, err := db.Exec(d.Bind(insert), ids...); err != nil {
				t.Fatal(err)
			}
		}
		failed, steps := 0, 0
		hooked := hookdb.Open(db, hookdb.Hooks{Before: func(query string) error {
			switch {
			case strings.HasPrefix(query, "DELETE") && strings.Contains(query, "outbox_events") && failed < fails:
				failed++
				return errConflict
			case query == hookdb.Commit:
				steps++
			}
			return nil
		}})
		defer hooked.Close()
		o, err := outbox.New(hooked, colliding{d}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := o.Purge(t.Context(), outbox.PurgeOptions{Published: time.Hour}); got != n || err != nil {
			t.Errorf("%d purged, %v", got, err)
		}
		if failed != fails || steps > 30 { // at the pace of the smallest step there would be hundreds
			t.Errorf("%d failures, %d steps", failed, steps)
		}
	})
}
