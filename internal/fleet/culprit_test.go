package fleet

import (
	"slices"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// One event of a thousand ends every process that hands it over, or two of one batch do. Each is a dead letter after
// exactly MaxAttempts of them; the others are published, and none of them is charged for its company.
func TestAnEventThatEndsItsProcessIsTheOnlyOneCharged(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) { charged(t, d, order, 437) })
}

func TestOfTwoEventsThatEndTheirProcessEachIsCharged(t *testing.T) {
	t.Parallel()
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) { charged(t, d, order, 437, 441) })
}

func charged(t *testing.T, d *database, order relay.Order, culprits ...int) {
	const events, keys, attempts, batch = 1000, 50, 3, 50
	ids := d.write(t, ofKeys("event", events, keys)...)
	isCulprit := func(id string) bool {
		return slices.ContainsFunc(culprits, func(i int) bool { return ids[i] == id })
	}
	rc := newReceiver(t, func(r receipt) answer {
		if isCulprit(r.ID) {
			return answer{Kind: answerExit}
		}
		return answer{}
	})
	// The lease is long for this test: an owner that loses it alive, on a busy machine, looks like a crash.
	f := newFleet(t, d.url, rc, relay.Options{
		Order: order, Lease: racing.Slow * 4 * time.Second, Poll: 20 * time.Millisecond, PollMax: 50 * time.Millisecond,
		MaxAttempts: attempts, Backoff: 20 * time.Millisecond, Batch: batch, Retention: time.Hour,
	})
	deaths := 0
	running := f.startAll(3 - len(culprits)) // one alone has both in its batch, whatever the order
	eventually(t, time.Minute, "all but the culprits are published, and those are dead", func() bool {
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
		return s.Pending == 0 && s.Dead == int64(len(culprits))
	})
	f.stopAll()
	for _, p := range f.all {
		if p.code() != exitGraceful && p.code() != exitCulprit {
			t.Errorf("%s ended with %v", p.name, p.cmd.ProcessState)
		}
	}
	if want := attempts * len(culprits); deaths != want {
		t.Errorf("%d processes died, want %d", deaths, want)
	}
	dead, err := d.DeadLetters(t.Context(), outbox.DeadLetterQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, dl := range dead {
		if !isCulprit(dl.ID) || dl.Attempts != attempts || dl.TotalAttempts != attempts {
			t.Errorf("dead letter %s (a culprit: %v): attempts %d of %d, want %d: %s",
				dl.ID, isCulprit(dl.ID), dl.Attempts, dl.TotalAttempts, attempts, dl.LastError)
		}
	}
	rc.wantAll(t, ids)
	for _, r := range rc.receipts() {
		if !isCulprit(r.ID) && r.Attempt != 1 {
			t.Errorf("%s was handed over as attempt %d and never failed", r.ID, r.Attempt)
		}
	}
	// Published events are kept for this: nothing is counted but the hand-over that worked.
	if n := d.number(t, "SELECT COUNT(*) FROM "+d.Table("events")+" WHERE state = 1 AND attempts = 1 AND total_attempts = 1"); n != int64(events-len(culprits)) {
		t.Errorf("%d events are published at the first attempt that counts, want %d", n, events-len(culprits))
	}
	handed := 0
	for _, i := range culprits {
		// Two may be on their way side by side when one of them ends the process; then the receiver may have heard of one alone.
		n, beside := rc.times(ids[i]), len(culprits)-1
		if handed += n; n < attempts-beside || n > attempts+beside {
			t.Errorf("%s was handed over %d times, want %d", ids[i], n, attempts)
		}
	}
	if handed < deaths {
		t.Errorf("%d processes died of %d hand-overs", deaths, handed)
	}
}
