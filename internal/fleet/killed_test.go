package fleet

import (
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/relay"
)

// Each kill falls on the relay that hands an event over: half of them before it has the answer, half a moment later.
func TestNothingIsLostWhenRelaysAreKilledAtRandom(t *testing.T) {
	t.Parallel()
	const events, kills, relays = 5000, 20, 3
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) {
		points := killPoints(t, kills, events-1) // at which count of arrivals
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
		rc.fence = fenceOf(order)
		f = newFleet(t, d.url, rc, relay.Options{
			Order: order, Lease: racing.Slow * 1500 * time.Millisecond, Poll: 50 * time.Millisecond, PollMax: 100 * time.Millisecond,
			Backoff: 20 * time.Millisecond, BackoffMax: 100 * time.Millisecond, Batch: 50,
		})
		ids := d.fill(t, events)
		f.startAll(relays)
		eventually(t, 2*time.Minute, "all have arrived", func() bool { return rc.distinct() == events })
		for range kills {
			select {
			case <-killed:
			case <-time.After(patience * 10 * time.Second):
				t.Fatal("not every kill happened")
			}
		}
		d.awaitSettled(t, 20*time.Second)
		f.stopAll()
		rc.wantAll(t, ids)
		rc.wantOrder(t, order)
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

// killPoints are n numbers from 1 to most.
func killPoints(t *testing.T, n, most int) map[int]bool {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 2))
	t.Logf("seed %d", seed)
	points := make(map[int]bool)
	for len(points) < n {
		points[1+rng.IntN(most)] = true
	}
	return points
}
