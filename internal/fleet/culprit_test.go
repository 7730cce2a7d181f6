package fleet

import (
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// One event of three hundred ends every process that hands it over. It is a dead letter after exactly MaxAttempts of
// them; the others are published, and none of them is charged for its company.
func TestAnEventThatEndsItsProcessIsTheOnlyOneCharged(t *testing.T) {
	const events, attempts = 300, 3
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) {
		ids := d.fill(t, events)
		culprit := ids[137]
		rc := newReceiver(t, func(r receipt) answer {
			if r.ID == culprit {
				return answer{Kind: answerExit}
			}
			return answer{}
		})
		// The lease is long for this test: an owner that loses it alive, on a busy machine, looks like a crash.
		f := newFleet(t, d.url, rc, relay.Options{
			Order: order, Lease: 2 * time.Second, Poll: 20 * time.Millisecond, PollMax: 50 * time.Millisecond,
			MaxAttempts: attempts, Backoff: 20 * time.Millisecond, Batch: 50,
		})
		deaths := 0
		running := f.startAll(2)
		eventually(t, time.Minute, "all but the culprit are published, and that is dead", func() bool {
			for i, p := range running {
				select {
				case <-p.ended:
					if p.code() != exitCulprit {
						t.Fatalf("%s ended with %v", p.name, p.cmd.ProcessState)
					}
					deaths++
					running[i] = f.start()
				default:
				}
			}
			s := d.stats(t)
			return s.Pending == 0 && s.Dead == 1
		})
		f.stopAll()
		for _, p := range f.all {
			if p.code() != exitGraceful && p.code() != exitCulprit {
				t.Errorf("%s ended with %v", p.name, p.cmd.ProcessState)
			}
		}
		if deaths != attempts {
			t.Errorf("%d processes died of it, want %d", deaths, attempts)
		}
		dead, err := d.DeadLetters(t.Context(), outbox.DeadLetterQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, dl := range dead {
			t.Logf("dead: %q attempts %d of %d: %s", dl.Payload, dl.Attempts, dl.TotalAttempts, dl.LastError)
			if dl.ID != culprit || dl.Attempts != attempts || dl.TotalAttempts != attempts {
				t.Errorf("dead letter %s (the culprit: %v): attempts %d of %d, want %d", dl.ID, dl.ID == culprit, dl.Attempts, dl.TotalAttempts, attempts)
			}
		}
		rc.wantAll(t, ids)
		for _, r := range rc.receipts() {
			switch {
			case r.ID == culprit:
				t.Logf("the culprit was handed over by %s as attempt %d", r.Relay, r.Attempt)
			case r.Attempt != 1:
				t.Errorf("%q was handed over as attempt %d and never failed", r.Payload, r.Attempt)
			}
		}
		if n := rc.times(culprit); n != attempts {
			t.Errorf("the culprit was handed over %d times, want %d", n, attempts)
		}
	})
}
