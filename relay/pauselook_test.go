package relay_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// A look learns that something is paused, and can't read what: the first look of all, or a later one. No pause ends by that.
func TestALookThatCannotReadThePausesEndsNone(t *testing.T) {
	engines.EachAtOnce(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			for _, fails := range []int64{1, 2, 3} {
				t.Run(fmt.Sprintf("%v, read %d", order, fails), func(t *testing.T) {
					t.Parallel() // most of it is waiting
					o := newOutbox(t, e)
					write(t, o, outbox.Event{Topic: "t", Key: "k"})
					if err := o.Pause(t.Context(), outbox.AllTopics); err != nil {
						t.Fatal(err)
					}
					looksThatFail(t, o, order, fails)
				})
			}
		}
	})
}

// looksThatFail runs a relay until it has read the pauses twice more after a read that failed.
func looksThatFail(t *testing.T, o *outbox.Outbox, order relay.Order, fails int64) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var reads atomic.Int64
	db := hookdb.Open(o.DB(), hookdb.Hooks{Before: func(query string) error {
		if query != "SELECT topic FROM outbox_pauses" {
			return nil
		}
		switch reads.Add(1) {
		case fails:
			return hookdb.ErrCut
		case fails + 3: // two are over
			stop()
		}
		return nil
	}})
	defer db.Close()
	on := outboxOn(t, db, o)
	r := relayOf(t, on, relay.PublisherFunc(func(_ context.Context, m relay.Message) error {
		t.Errorf("%s was handed on", m.ID)
		return nil
	}), &relay.Options{Order: order, Poll: 200 * time.Millisecond, PollMax: 200 * time.Millisecond})
	if err := r.Run(ctx); err != nil {
		t.Error(err)
	}
}
