package fleet

import (
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

// A hand-over that takes long holds its key up, and no other, however much of that key is pending.
func TestOneSlowKeyIsNotInTheWayOfTheOthers(t *testing.T) {
	const events, keys = 600, 6
	eachEngine(t, func(t *testing.T, d *database) {
		release := make(chan struct{})
		rc := newReceiver(t, func(r receipt) answer {
			if r.Key == key(0) {
				<-release
			}
			return answer{}
		})
		goOn := sync.OnceFunc(func() { close(release) })
		t.Cleanup(goOn) // before the receiver's, which waits for its answers
		f := newFleet(t, d.url, rc, relay.Options{Order: relay.OrderPerKey, Batch: 10, Poll: 20 * time.Millisecond})
		f.start()
		d.awaitShares(t, 1, 20*time.Second)
		ids := d.write(t, ofKeys("event", events, keys)...)
		eventually(t, 20*time.Second, "all of the other keys have arrived", func() bool { return rc.distinct() == events-events/keys+1 })
		goOn()
		eventually(t, 20*time.Second, "the slow key has arrived too", func() bool { return rc.distinct() == events })
		d.awaitSettled(t, 10*time.Second)
		f.stopAll()
		rc.wantAll(t, ids)
		rc.wantKeysInOrder(t)
		if n := rc.doubles(); n != 0 {
			t.Errorf("%d events were published twice", n)
		}
	})
}
