package fleet

import (
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

// Each kill falls on the relay that hands an event over: half of them before it has the answer, half a moment later.
func TestNothingIsLostWhenRelaysAreKilledAtRandom(t *testing.T) {
	const events, kills, relays = 5000, 20, 3
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) {
		seed := uint64(time.Now().UnixNano())
		rnd := rand.New(rand.NewPCG(seed, 2))
		t.Logf("seed %d", seed)
		points := make(map[int]bool) // at which count of arrivals
		for len(points) < kills {
			points[1+rnd.IntN(events-1)] = true
		}
		var f *fleet
		var arrived atomic.Int64
		killed := make(chan struct{}, kills)
		rc := newReceiver(t, func(r receipt) answer {
			if !points[int(arrived.Add(1))] {
				return answer{}
			}
			p := f.named(r.Relay)
			strike := func() {
				p.signal(syscall.SIGKILL)
				f.start()
				killed <- struct{}{}
			}
			if rand.IntN(2) == 0 {
				strike()
			} else {
				time.AfterFunc(rand.N(5*time.Millisecond), strike)
			}
			return answer{}
		})
		// A destination that needs the order whatever happens refuses old tokens: a relay that was suspended by a
		// busy machine between its look at the deadline and the hand-over would break it otherwise.
		rc.fenced = order == relay.OrderTotal
		f = newFleet(t, d.url, rc, relay.Options{
			Order: order, Lease: 700 * time.Millisecond, Poll: 50 * time.Millisecond, PollMax: 100 * time.Millisecond,
			Backoff: 20 * time.Millisecond, BackoffMax: 100 * time.Millisecond, Batch: 50,
		})
		ids := d.fill(t, events)
		f.startAll(relays)
		eventually(t, 2*time.Minute, "all have arrived", func() bool { return rc.distinct() == events })
		for range kills {
			select {
			case <-killed:
			case <-time.After(10 * time.Second):
				t.Fatal("not every kill happened")
			}
		}
		d.awaitSettled(t, 20*time.Second)
		f.stopAll()
		rc.wantAll(t, ids)
		if order == relay.OrderTotal {
			rc.wantInOrder(t)
		}
		if s := d.stats(t); s.Dead != 0 || s.Pending != 0 {
			t.Errorf("left behind: %d dead, %d pending", s.Dead, s.Pending)
		}
		highest := 0
		for _, r := range rc.receipts() {
			highest = max(highest, r.Attempt)
		}
		t.Logf("%d handed over again, highest attempt %d, %d refused by token", rc.doubles(), highest, len(rc.late))
	})
}
