package fleet

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

// The owner is stopped in the middle of a hand-over for longer than its lease. When it goes on, its event has arrived;
// the outcome comes too late, and others have handed it over again.
func TestAPausedOwnersLateOutcomeChangesNothingAndIsCounted(t *testing.T) {
	const events, batch = 1000, 20
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) {
		held, release := make(chan receipt, 1), make(chan struct{})
		var n atomic.Int64
		rc := newReceiver(t, func(r receipt) answer {
			if n.Add(1) == 101 {
				held <- r
				<-release
			}
			return answer{}
		})
		goOn := sync.OnceFunc(func() { close(release) })
		t.Cleanup(goOn) // before the receiver's, which waits for its answers
		f := newFleet(t, d.url, rc, relay.Options{
			Order: order, Lease: time.Second, Poll: 50 * time.Millisecond, PollMax: 100 * time.Millisecond, Batch: batch,
			Backoff: 20 * time.Millisecond,
		})
		f.startAll(2)
		d.awaitRelays(t, 2)
		ids := d.fill(t, events)
		var r receipt
		select {
		case r = <-held:
		case <-time.After(20 * time.Second):
			t.Fatal("no event arrived")
		}
		paused := f.named(r.Relay)
		paused.signal(syscall.SIGSTOP)
		inHand := rc.count() // an upper bound of what it can have handed over without a record
		eventually(t, 30*time.Second, "the other relay has handed over all", func() bool { return rc.distinct() == events && rc.times(r.ID) == 2 })
		d.awaitSettled(t, 10*time.Second)
		before := d.stats(t)
		goOn()
		// The answer waits for it, so that it has an outcome to record before it learns that its lease is lost.
		eventually(t, 5*time.Second, "the answer is on its way", func() bool { return rc.unanswered() == 0 })
		paused.signal(syscall.SIGCONT)
		// It is alive: it takes part again.
		more := d.fill(t, 100)
		eventually(t, 20*time.Second, "what is written afterwards arrives", func() bool { return rc.distinct() == events+len(more) })
		d.awaitSettled(t, 10*time.Second)
		refused := paused.stop(t).Refused
		if refused == 0 {
			t.Error("the late outcome was not counted as refused")
		}
		f.stopAll()
		rc.wantAll(t, append(ids, more...))
		if s := d.stats(t); s.Pending != 0 || s.Dead != 0 || s.Published != before.Published {
			t.Errorf("the late outcome changed something: %+v, before %+v", s, before)
		}
		most := batch
		if order == relay.OrderNone {
			most *= 1 + 2 // the claim of the held event, and those worked on and claimed ahead of it
		}
		t.Logf("%d handed over twice of %d that had arrived, %d outcomes refused", rc.doubles(), inHand, refused)
		if rc.doubles() > most {
			t.Errorf("%d events were handed over twice, want at most the %d that were in hand", rc.doubles(), most)
		}
	})
}
