package fleet

import (
	"slices"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

// A deploy is no failure: each relay gives back what it owns, and the others take it at their next look.
func TestARollingDeployPublishesNothingTwiceAndPausesNoKeyForLong(t *testing.T) {
	const (
		relays, keys = 3, 50
		// The aim is 2 s, and how long it was is printed: a busy machine adds to it. What waits for a third of the lease was
		// not handed over.
		aim, most = 2 * time.Second, 10 * time.Second
	)
	eachEngine(t, func(t *testing.T, d *database) {
		rc := newReceiver(t, nil)
		f := newFleet(t, d.url, rc, relay.Options{Order: relay.OrderPerKey}) // and the defaults for all else
		old := f.startAll(relays)
		d.awaitShares(t, relays, 20*time.Second)
		stop := d.trickle(t, 2*time.Millisecond, keys)
		eventually(t, 20*time.Second, "events of all keys arrive", func() bool { return rc.distinct() >= 2*keys })
		from := time.Now()
		for _, p := range old {
			f.start()
			d.awaitRelays(t, relays+1)
			p.stop(t)
			from := rc.count()
			eventually(t, 20*time.Second, "events go on arriving", func() bool { return rc.count() >= from+2*keys })
		}
		took := time.Since(from)
		d.awaitShares(t, relays, 20*time.Second)
		ids := stop()
		eventually(t, 20*time.Second, "all have arrived", func() bool { return rc.distinct() == len(ids) })
		d.awaitSettled(t, 10*time.Second)
		if refused := f.stopAll(); refused != 0 {
			t.Errorf("%d outcomes were refused", refused)
		}
		rc.wantAll(t, ids)
		rc.wantKeysInOrder(t)
		if n := rc.doubles(); n != 0 {
			t.Errorf("%d events were published twice", n)
		}
		f.wantSilence()
		waits := rc.waits(t)
		longest := waits[len(waits)-1]
		t.Logf("the deploy took %v; of %d events the median arrived after %v, the last of any key after %v (aim: %v)",
			took.Round(time.Millisecond), len(ids), waits[len(waits)/2].Round(time.Millisecond), longest.Round(time.Millisecond), aim)
		if longest > most {
			t.Errorf("a key was paused for %v, want at most %v", longest, most)
		}
	})
}

// waits are the times from before each event of a trickle was written until it arrived first, ascending.
func (rc *receiver) waits(t *testing.T) []time.Duration {
	t.Helper()
	var waits []time.Duration
	for _, r := range firsts(rc.receipts()) {
		written, err := time.Parse(time.RFC3339Nano, string(r.Payload))
		if err != nil {
			t.Fatal(err)
		}
		waits = append(waits, r.At.Sub(written))
	}
	slices.Sort(waits)
	return waits
}
