package fleet

import (
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

func TestCompetingRelaysPublishEachEventOnce(t *testing.T) {
	const events, relays = 10_000, 4
	eachEngine(t, func(t *testing.T, d *database) {
		// A destination takes its time; with none a single relay could be done before the others have looked.
		rc := newReceiver(t, func(receipt) answer {
			time.Sleep(2 * time.Millisecond)
			return answer{}
		})
		f := newFleet(t, d.url, rc, relay.Options{Order: relay.OrderNone, Poll: 50 * time.Millisecond})
		f.startAll(relays)
		d.awaitRelays(t, relays)
		ids := d.fill(t, events)
		eventually(t, time.Minute, "all have arrived", func() bool { return rc.distinct() == events })
		d.awaitSettled(t, 10*time.Second)
		if refused := f.stopAll(); refused != 0 {
			t.Errorf("%d outcomes were refused", refused)
		}
		rc.wantAll(t, ids)
		if n := rc.doubles(); n != 0 {
			t.Errorf("%d events were published again", n)
		}
		share := make(map[string]int)
		for _, r := range rc.receipts() {
			share[r.Relay]++
		}
		t.Logf("shares: %v", share)
		if len(share) != relays {
			t.Errorf("%d of %d relays got a share", len(share), relays)
		}
		f.wantSilence()
	})
}
