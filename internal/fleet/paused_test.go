package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/relay"
)

// The owner is stopped in the middle of a hand-over for longer than its lease. When it goes on, its event has arrived;
// the outcome comes too late, and others have handed it over again.
func TestAPausedOwnersLateOutcomeChangesNothingAndIsCounted(t *testing.T) {
	const events, batch = 1000, 20
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) {
		held, release := make(chan receipt, 1), make(chan struct{})
		var owner atomic.Pointer[string] // whose messages are not answered any more
		var n atomic.Int64
		rc := newReceiver(t, func(r receipt) answer {
			if n.Add(1) == 101 {
				owner.Store(&r.Relay)
				held <- r
			}
			if o := owner.Load(); o != nil && *o == r.Relay {
				<-release
			}
			return answer{}
		})
		goOn := sync.OnceFunc(func() { close(release) })
		t.Cleanup(goOn) // before the receiver's, which waits for its answers
		f := newFleet(t, d.url, rc, relay.Options{
			Order: order, Lease: racing.Slow * 2 * time.Second, Poll: 50 * time.Millisecond, PollMax: 100 * time.Millisecond, Batch: batch,
			Backoff: 20 * time.Millisecond,
		})
		f.patient = true // on a machine under load the lease can run out before it is stopped for good
		f.startAll(2)
		d.awaitRelays(t, 2)
		ids := d.fill(t, events)
		var r receipt
		select {
		case r = <-held:
		case <-time.After(patience * 20 * time.Second):
			t.Fatal("no event arrived")
		}
		paused := f.named(r.Relay)
		d.pause(t, paused)
		inHand := 2 * batch // one that is handed over, and the one before that is being recorded
		if order == relay.OrderNone {
			inHand = int(d.number(t, fmt.Sprintf("SELECT COUNT(*) FROM %s e, %s r WHERE r.process = %d AND e.state = 0 AND SUBSTR(e.claimed_by, 1, LENGTH(r.id)) = r.id",
				d.Table("events"), d.Table("relays"), paused.cmd.Process.Pid)))
		}
		eventually(t, 30*time.Second, "the other relay has handed over all", func() bool { return rc.distinct() == events && rc.times(r.ID) > 1 })
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
		t.Logf("%d handed over twice of %d in hand, %d outcomes refused", rc.doubles(), inHand, refused)
		if rc.doubles() > inHand {
			t.Errorf("%d events were handed over twice, want at most the %d that were in hand", rc.doubles(), inHand)
		}
	})
}

// pause stops the process between its transactions. Within one it would keep its locks for as long as it is stopped,
// whatever the library does; on SQLite that is the lock of the whole database.
func (d *database) pause(t *testing.T, p *process) {
	t.Helper()
	eventually(t, 20*time.Second, "the relay is stopped between its transactions", func() bool {
		p.signal(syscall.SIGSTOP)
		// The server may still be at a statement that was sent before, so one look is not enough.
		for until := time.Now().Add(200 * time.Millisecond); time.Now().Before(until); {
			if !d.nothingLocked(t) {
				p.signal(syscall.SIGCONT)
				return false
			}
		}
		return true
	})
}

// nothingLocked reports whether all rows can be locked soon.
func (d *database) nothingLocked(t *testing.T) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	tx, err := d.Dialect().Begin(ctx, d.DB())
	if err != nil {
		return false
	}
	defer func() { _ = tx.Rollback() }()
	for _, query := range []string{
		"SELECT seq FROM " + d.Table("events") + " ORDER BY seq",
		"SELECT id FROM " + d.Table("relays") + " ORDER BY id",
		"SELECT name FROM " + d.Table("leases"),
	} {
		rows, err := tx.QueryContext(ctx, query+d.Dialect().Lock())
		if err != nil {
			return false
		}
		for rows.Next() {
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return false
		}
	}
	return true
}
