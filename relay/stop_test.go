package relay_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// Run is stopped at its first statement, at its second, and so on until it gets as far as handing an event over.
func TestAStopAtAnyStatementLeavesNoLeaseAndNoRow(t *testing.T) {
	for _, order := range allOrders {
		t.Run(order.String(), func(t *testing.T) {
			engines.Each(t, func(t *testing.T, e *engines.Engine) {
				o := newOutbox(t, e)
				sql := sqltext.New(o.Dialect(), "", sqltext.DefaultPrefix)
				for n := int64(1); ; n++ {
					through := stopAt(t, o, order, n)
					var rows, owned int
					read := sql.SQL(`SELECT (SELECT COUNT(*) FROM {relays}), (SELECT COUNT(*) FROM {leases} WHERE owner <> '')`)
					if err := o.DB().QueryRow(read).Scan(&rows, &owned); err != nil {
						t.Fatal(err)
					}
					if rows != 0 || owned != 0 {
						t.Fatalf("stopped at statement %d: %d rows of relays, %d leases with an owner", n, rows, owned)
					}
					if through {
						return
					}
				}
			})
		})
	}
}

// stopAt runs a relay until it has sent n statements, or hands an event over, and answers whether it got through to that.
func stopAt(t *testing.T, o *outbox.Outbox, order relay.Order, n int64) bool {
	t.Helper()
	write(t, o, outbox.Event{Topic: "t", Key: "k"})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var sent atomic.Int64
	var through atomic.Bool
	db := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(string) error {
		if sent.Add(1) == n {
			stop()
		}
		return nil
	}})
	defer db.Close()
	on, err := outbox.New(db, o.Dialect(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := relay.New(on, relay.PublisherFunc(func(context.Context, relay.Message) error {
		through.Store(true)
		stop()
		return nil
	}), &relay.Options{Order: order})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(ctx); err != nil {
		t.Fatalf("stopped at statement %d: %v", n, err)
	}
	return through.Load()
}
