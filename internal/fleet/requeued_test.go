package fleet

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay"
)

// A requeued event takes its old place: nothing newer of its key that is still pending is published before it. Two
// relays work meanwhile on other keys, and the requeue is asked for by another process than theirs.
func TestARequeuedEventIsPublishedBeforeWhatIsNewer(t *testing.T) {
	const events, keys, batch = 600, 6, 10
	for _, policy := range []relay.DeadPolicy{relay.SkipDead, relay.HoldKey} {
		t.Run(map[relay.DeadPolicy]string{relay.SkipDead: "skip dead", relay.HoldKey: "hold key"}[policy], func(t *testing.T) {
			eachEngine(t, func(t *testing.T, d *database) { requeued(t, d, policy, events, keys, batch) })
		})
	}
}

func requeued(t *testing.T, d *database, policy relay.DeadPolicy, events, keys, batch int) {
	written := ofKeys("event", events, keys)
	bad, stopAt := written[2*keys].ID, written[5*keys].ID // of one key: its third, and its sixth
	waiting, release := make(chan struct{}), make(chan struct{})
	var stopped sync.Once
	rc := newReceiver(t, func(r receipt) answer {
		switch {
		case r.ID == bad && !r.Requeued:
			return answer{Kind: answerPermanent, Text: "not yet"}
		case r.ID == stopAt:
			stopped.Do(func() { close(waiting) })
			<-release
		}
		return answer{}
	})
	goOn := sync.OnceFunc(func() { close(release) })
	t.Cleanup(goOn) // before the receiver's, which waits for its answers
	f := newFleet(t, d.url, rc, relay.Options{
		Order: relay.OrderPerKey, OnDead: policy, Batch: batch, Poll: 20 * time.Millisecond, PollMax: 50 * time.Millisecond,
	})
	f.startAll(2)
	d.awaitShares(t, 2, 20*time.Second)
	ids := d.write(t, written...)
	if policy == relay.SkipDead {
		select { // its key goes on behind it
		case <-waiting:
		case <-time.After(patience * 20 * time.Second):
			t.Fatal("what is behind the dead letter does not flow")
		}
	}
	eventually(t, 20*time.Second, "the dead letter is recorded", func() bool { return d.stats(t).Dead == 1 })
	if policy == relay.HoldKey {
		eventually(t, 20*time.Second, "the other keys are through", func() bool { return rc.distinct() == events-events/keys+3 })
	}
	arrived := len(rc.ofKey(key(0)))
	if n, err := d.Requeue(t.Context(), bad); n != 1 || err != nil {
		t.Fatalf("%d were requeued: %v", n, err)
	}
	goOn()
	eventually(t, 20*time.Second, "all have arrived", func() bool { return rc.distinct() == events && rc.times(bad) == 2 })
	d.awaitSettled(t, 10*time.Second)
	f.stopAll()
	rc.wantAll(t, ids)
	rc.wantKeysInOrder(t)

	ofKey := rc.ofKey(key(0))
	again := slices.IndexFunc(ofKey, func(r receipt) bool { return r.ID == bad && r.Requeued })
	if again < 0 {
		t.Fatal("no message says that it was requeued")
	}
	if ofKey[again].Attempt != 1 {
		t.Errorf("the requeued event was handed over as attempt %d, want 1: attempts begin anew", ofKey[again].Attempt)
	}
	for i, r := range ofKey {
		if r.Requeued && i != again {
			t.Errorf("%s says that it was requeued", r.ID)
		}
	}
	between := again - arrived // newer ones that went before it
	inHand := 0
	if policy == relay.SkipDead {
		inHand = 2 * batch
	}
	t.Logf("%d of the key had arrived at the requeue, and %d that were in hand went before it", arrived, between)
	if between > inHand {
		t.Errorf("%d newer events went before the requeued one, want at most the %d in hand", between, inHand)
	}
}

// ofKey are the receipts of one key, in the order of arrival.
func (rc *receiver) ofKey(name string) []receipt {
	return slices.DeleteFunc(rc.receipts(), func(r receipt) bool { return r.Key != name })
}
