package fleet

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func TestRelaysShareThePartitionsFairlyWhoeverComesAndGoes(t *testing.T) {
	const (
		keys                 = 50
		lease, poll, pollMax = racing.Slow * 2 * time.Second, 100 * time.Millisecond, 300 * time.Millisecond
		// Who has too much learns it at one look, and who has too little at the next; the rest is for a busy machine.
		fair = 10 * time.Second
		// As TestInTotalOrderRelaysTakeTurns has it; a hand-over of what was pending meanwhile comes on top.
		takeOver = lease + pollMax*5/4 + racing.Slow*500*time.Millisecond
	)
	eachEngine(t, func(t *testing.T, d *database) {
		// A destination takes its time, and so there is always something in hand when a share changes.
		rc := newReceiver(t, func(receipt) answer {
			time.Sleep(2 * time.Millisecond)
			return answer{}
		})
		f := newFleet(t, d.url, rc, relay.Options{Order: relay.OrderPerKey, Lease: lease, Poll: poll, PollMax: pollMax})
		f.start()
		one := d.awaitShares(t, 1, fair)
		ids := d.fillKeys(t, 4000, keys)
		stop := d.trickle(t, 5*time.Millisecond, keys)
		f.startAll(3)
		d.awaitRelays(t, 4)
		four := d.awaitShares(t, 4, fair)

		leaving := f.running()[:2]
		for _, p := range leaving {
			p.signal(syscall.SIGTERM)
		}
		for _, p := range leaving {
			p.stopped(t)
		}
		two := d.awaitShares(t, 2, fair)
		if n := rc.doubles(); n != 0 {
			t.Errorf("%d events were published twice, and nobody was killed", n)
		}

		// What a victim has in hand is handed over one by one afterwards: let that be little.
		eventually(t, time.Minute, "the backlog is through", func() bool { return d.stats(t).Pending < keys })
		victim := f.running()[0]
		var partitions []int
		for _, r := range d.relays(t) {
			if r.Process == int64(victim.cmd.Process.Pid) {
				partitions = r.Partitions
			}
		}
		at := time.Now()
		victim.kill()
		d.awaitShares(t, 1, lease+fair)
		victims, others := keysIn(partitions, keys)
		var pause time.Duration
		eventually(t, 10*time.Second, "the victim's keys go on", func() (all bool) {
			pause, all = rc.longestSilence(victim, at, victims)
			return all
		})
		// A slow disk makes all keys wait: those that nobody was killed for tell how long.
		usual, _ := rc.longestSilence(victim, at, others)
		t.Logf("fair shares: of one after %v, four after %v, two after %v; after SIGKILL the last key went on after %v, where others waited up to %v",
			one.Round(time.Millisecond), four.Round(time.Millisecond), two.Round(time.Millisecond), pause.Round(time.Millisecond), usual.Round(time.Millisecond))
		if pause > takeOver+usual {
			t.Errorf("after SIGKILL a key went on after %v, want at most %v beside the %v that others waited", pause, takeOver, usual)
		}

		ids = append(ids, stop()...)
		eventually(t, 10*time.Second, "all have arrived", func() bool { return rc.distinct() == len(ids) })
		d.awaitSettled(t, 10*time.Second)
		f.stopAll()
		rc.wantAll(t, ids)
		rc.wantKeysInOrder(t)
	})
}

// keysIn are the keys of which these partitions hold the events, and the others.
func keysIn(partitions []int, keys int) (in, others []string) {
	for k := range keys {
		if slices.Contains(partitions, outbox.Partition(key(k))) {
			in = append(in, key(k))
		} else {
			others = append(others, key(k))
		}
	}
	return in, others
}

// longestSilence is the longest time after at for which one of these keys was handed over by nobody but the victim; all
// is whether each has been since.
func (rc *receiver) longestSilence(victim *process, at time.Time, keys []string) (longest time.Duration, all bool) {
	last := make(map[string]time.Time, len(keys))
	for _, k := range keys {
		last[k] = at
	}
	for _, r := range rc.receipts() {
		since, asked := last[r.Key]
		if asked && r.Relay != victim.name && r.At.After(at) {
			longest = max(longest, r.At.Sub(since))
			last[r.Key] = r.At
		}
	}
	for _, heard := range last {
		if heard.Equal(at) {
			return longest, false
		}
	}
	return longest, len(keys) > 0
}

func (d *database) relays(t *testing.T) []outbox.RelayInfo {
	t.Helper()
	relays, err := d.Relays(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return relays
}

// awaitShares waits until n relays own all partitions, with one more or less each, and answers how long that took.
func (d *database) awaitShares(t *testing.T, n int, limit time.Duration) time.Duration {
	t.Helper()
	from := time.Now()
	var relays []outbox.RelayInfo
	defer func() {
		if t.Failed() {
			t.Logf("the relays: %+v", relays)
		}
	}()
	eventually(t, limit, "all partitions are owned, in fair shares", func() bool {
		relays = d.relays(t)
		sum, least, most := 0, outbox.Partitions, 0
		for _, r := range relays {
			share := len(r.Partitions)
			sum, least, most = sum+share, min(least, share), max(most, share)
		}
		return len(relays) == n && sum == outbox.Partitions && most-least <= 1
	})
	return time.Since(from)
}
