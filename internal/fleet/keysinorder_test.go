package fleet

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/relay"
)

// Whatever fails and whoever is killed: the first deliveries of each key are in the order of its commits, and none is
// missing.
func TestEachKeyIsInOrderWhileEventsFailAndRelaysAreKilled(t *testing.T) {
	const writers, keys, relays = 8, 200, 4
	eachEngine(t, func(t *testing.T, d *database) {
		l := newKeyLoad(t, d, keys)
		rc := newReceiver(t, func(receipt) answer {
			switch rand.IntN(50) {
			case 0:
				return answer{Kind: answerFailed, Text: "at random"}
			case 1:
				time.Sleep(rand.N(20 * time.Millisecond))
			}
			return answer{}
		})
		rc.fence = fenceOf(relay.OrderPerKey)
		f := newFleet(t, d.url, rc, relay.Options{
			Order: relay.OrderPerKey, Lease: racing.Slow * time.Second, Poll: 50 * time.Millisecond, PollMax: 100 * time.Millisecond,
			Backoff: 20 * time.Millisecond, BackoffMax: 200 * time.Millisecond, Batch: 50, MaxAttempts: 1000,
		})
		f.startAll(relays)
		d.awaitShares(t, relays, 20*time.Second)

		ctx, cancel := context.WithTimeout(t.Context(), hostTime(t))
		defer cancel()
		stop := f.killSometimes(400 * time.Millisecond)
		ids := l.run(t, ctx, writers)
		kills := stop()
		if kills == 0 {
			t.Error("no relay was killed")
		}
		from := time.Now()
		eventually(t, time.Minute, "all have arrived", func() bool { return rc.distinct() == len(ids) })
		d.awaitSettled(t, 20*time.Second)
		t.Logf("%d events, %d kills, %d handed over again, %d refused by token; the rest took %v",
			len(ids), kills, rc.doubles(), len(rc.late), time.Since(from).Round(time.Millisecond))
		f.stopAll()
		rc.wantAll(t, ids)
		rc.wantKeysInOrder(t)
		l.wantCounted(t, rc.receipts())
		if n := d.number(t, "SELECT COUNT(*) FROM "+d.Table("events")); n != 0 {
			t.Errorf("%d events are left behind", n)
		}
		if n := d.number(t, "SELECT COUNT(*) FROM "+d.Table("held")); n != 0 {
			t.Errorf("%d keys are held, by nothing", n)
		}
	})
}

// killSometimes kills one relay of those that run after another, each replaced at once, until stop is called.
func (f *fleet) killSometimes(every time.Duration) (stop func() (kills int)) {
	ctx, cancel := context.WithCancel(f.t.Context())
	kills := 0
	var killing sync.WaitGroup
	killing.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(every/2 + rand.N(every)):
			}
			running := f.running()
			running[rand.IntN(len(running))].signal(syscall.SIGKILL)
			f.start()
			kills++
		}
	})
	end := func() int {
		cancel()
		killing.Wait()
		return kills
	}
	f.t.Cleanup(func() { end() })
	return end
}
