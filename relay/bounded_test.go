package relay_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

type claimedCount struct{ n atomic.Int64 }

func (c *claimedCount) Claimed(events int) { c.n.Add(int64(events)) }

// However often it is woken and however short its polls, a relay whose publisher is slow takes two batches at most: it
// does not hoard what others could work on, and what is in hand stays readable after a crash.
func TestARelayTakesTwoBatchesAtMost(t *testing.T) {
	for _, order := range []relay.Order{relay.OrderTotal, relay.OrderNone} {
		t.Run(order.String(), func(t *testing.T) {
			db, err := sqlite.Open(filepath.Join(t.TempDir(), "outbox.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := migrations.Up(t.Context(), db, sqlite.New(), nil); err != nil {
				t.Fatal(err)
			}
			o, err := outbox.New(db, sqlite.New(), nil)
			if err != nil {
				t.Fatal(err)
			}
			err = o.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				_, err := o.Write(ctx, tx, make200()...)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			const batch = 10
			var claimed claimedCount
			began, finish := make(chan struct{}, 200), make(chan struct{})
			r, err := relay.New(o, relay.PublisherFunc(func(context.Context, relay.Message) error {
				began <- struct{}{}
				<-finish
				return nil
			}), &relay.Options{Order: order, Batch: batch, Poll: time.Millisecond, Observers: []relay.Observer{&claimed}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- r.Run(ctx) }()
			<-began
			for range 100 {
				r.Wake()
				time.Sleep(time.Millisecond) // a hundred chances to take too much
			}
			if n := claimed.n.Load(); n > 2*batch {
				t.Errorf("%d events are in hand, want at most %d", n, 2*batch)
			}
			close(finish)
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func make200() []outbox.Event {
	events := make([]outbox.Event, 200)
	for i := range events {
		events[i].Topic = "slow"
	}
	return events
}
