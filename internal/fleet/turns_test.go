package fleet

import (
	"context"
	"database/sql"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// trickle writes an event every few milliseconds, of one key after another, until stop is called, which answers all
// their ids. The payload is the time before it was written.
func (d *database) trickle(t *testing.T, every time.Duration, keys int) (stop func() []string) {
	ctx, cancel := context.WithCancel(t.Context())
	var ids []string
	var writing sync.WaitGroup
	writing.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := d.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *sql.Tx) error {
				event := outbox.Event{Topic: "t", Key: key(len(ids) % keys), Payload: time.Now().AppendFormat(nil, time.RFC3339Nano)}
				added, err := d.Write(ctx, tx, event)
				ids = append(ids, added...)
				return err
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	end := func() []string {
		cancel()
		writing.Wait()
		return ids
	}
	t.Cleanup(func() { end() })
	return end
}

func TestInTotalOrderRelaysTakeTurns(t *testing.T) {
	const (
		lease, poll, pollMax = racing.Slow * 2 * time.Second, 100 * time.Millisecond, 300 * time.Millisecond
		// A wait is jittered by up to a quarter; the rest is for a busy machine's scheduling and the take-over's own
		// transaction.
		takeOver = lease + pollMax*5/4 + racing.Slow*250*time.Millisecond
		handOver = racing.Slow * time.Second
	)
	eachEngine(t, func(t *testing.T, d *database) {
		rc := newReceiver(t, nil)
		f := newFleet(t, d.url, rc, relay.Options{Order: relay.OrderTotal, Lease: lease, Poll: poll, PollMax: pollMax})
		f.startAll(4)
		d.awaitRelays(t, 4)
		stop := d.trickle(t, 5*time.Millisecond, 1)

		owner := func() *process {
			t.Helper()
			from := rc.count()
			eventually(t, 10*time.Second, "events arrive", func() bool { return rc.count() >= from+50 })
			return f.named(rc.last().Relay)
		}
		next := func(former *process, from time.Time) time.Duration {
			t.Helper()
			var at time.Time
			eventually(t, 10*time.Second, "another relay works", func() bool {
				last := rc.last()
				at = last.At
				return last.Relay != former.name
			})
			for _, r := range rc.receipts() { // the first of the next one's, not the last
				if r.At.After(from) && r.Relay != former.name {
					return r.At.Sub(from)
				}
			}
			return at.Sub(from)
		}

		first := owner()
		from := time.Now()
		first.kill()
		gap := next(first, from)
		t.Logf("after SIGKILL the next took over in %v", gap)
		if gap > takeOver {
			t.Errorf("after SIGKILL the next took over in %v, want at most %v", gap, takeOver)
		}

		second := owner()
		from = time.Now()
		second.signal(syscall.SIGTERM)
		gap = next(second, from)
		t.Logf("after SIGTERM the next took over in %v", gap)
		if gap > handOver {
			t.Errorf("after SIGTERM the next took over in %v, want at most %v", gap, handOver)
		}
		second.stopped(t)

		owner()
		ids := stop()
		eventually(t, 10*time.Second, "all have arrived", func() bool { return rc.distinct() == len(ids) })
		d.awaitSettled(t, 10*time.Second)
		f.stopAll()
		rc.wantAll(t, ids)
		rc.wantInOrder(t)
		wantTurns(t, rc.receipts(), 3)
	})
}

// wantTurns fails the test unless so many relays worked one after the other, each under a token of its own.
func wantTurns(t *testing.T, all []receipt, turns int) {
	t.Helper()
	got := 0
	var before receipt
	for _, r := range all {
		switch {
		case r.Relay != before.Relay:
			got++
			if r.Token <= before.Token {
				t.Errorf("%s works under token %d after %s under %d", r.Relay, r.Token, before.Relay, before.Token)
			}
		case r.Token != before.Token:
			t.Errorf("%s changed from token %d to %d while it worked", r.Relay, before.Token, r.Token)
		}
		before = r
	}
	if got != turns {
		t.Errorf("there were %d turns, want %d", got, turns)
	}
}
