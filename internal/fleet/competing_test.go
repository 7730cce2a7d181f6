package fleet

import (
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

// All relays have a share, to the end: none takes what the others have locked for the end of all work, and waits for a minute.
func TestCompetingRelaysPublishEachEventOnce(t *testing.T) {
	const events, relays = 10_000, 4
	eachEngine(t, func(t *testing.T, d *database) {
		// Nobody has an answer before all relays work: one could be done before the others have started. Then a destination
		// takes its time.
		var mu sync.Mutex // guards working
		working := make(map[string]bool)
		all := make(chan struct{})
		rc := newReceiver(t, func(r receipt) answer {
			mu.Lock()
			if !working[r.Relay] {
				working[r.Relay] = true
				if len(working) == relays {
					close(all)
				}
			}
			mu.Unlock()
			select {
			case <-all:
			case <-t.Context().Done():
			}
			time.Sleep(5 * time.Millisecond)
			return answer{}
		})
		f := newFleet(t, d.url, rc, relay.Options{Order: relay.OrderNone, Poll: 50 * time.Millisecond, PollMax: time.Minute})
		ids := d.fill(t, events)
		f.startAll(relays)
		eventually(t, time.Minute, "all have arrived", func() bool { return rc.distinct() == events })
		d.awaitSettled(t, 10*time.Second)
		if refused := f.stopAll(); refused != 0 {
			t.Errorf("%d outcomes were refused", refused)
		}
		rc.wantAll(t, ids)
		if n := rc.doubles(); n != 0 {
			t.Errorf("%d events were published again", n)
		}
		for what, part := range map[string][]receipt{"all": rc.receipts(), "the second half": rc.receipts()[events/2:]} {
			share := make(map[string]int)
			for _, r := range part {
				share[r.Relay]++
			}
			t.Logf("shares of %s: %v", what, share)
			if len(share) != relays {
				t.Errorf("%d of %d relays got a share of %s", len(share), relays, what)
			}
		}
		f.wantSilence()
	})
}
