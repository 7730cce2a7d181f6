package relay_test

import (
	"context"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// Whenever Run is stopped, also while it registers or takes the lease, it leaves the lease free and no row behind.
func TestAStopAtAnyMomentLeavesTheLeaseFree(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d, err := all.Open(e.NewDatabase(t))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := migrations.Up(t.Context(), db, d, nil); err != nil {
			t.Fatal(err)
		}
		o, err := outbox.New(db, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := relay.New(o, relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }), nil)
		if err != nil {
			t.Fatal(err)
		}
		for round := range 60 {
			after := time.Duration(round) * 200 * time.Microsecond
			ctx, cancel := context.WithTimeout(t.Context(), after)
			err := r.Run(ctx)
			cancel()
			if err != nil {
				t.Fatalf("stopped after %v: %v", after, err)
			}
			s, err := o.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var rows int
			if err := db.QueryRow("SELECT COUNT(*) FROM " + o.Table("relays")).Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if rows != 0 || len(s.Leases) > 0 && s.Leases[0].Owner != "" {
				t.Fatalf("stopped after %v: %d rows of relays, leases %+v", after, rows, s.Leases)
			}
		}
	})
}
