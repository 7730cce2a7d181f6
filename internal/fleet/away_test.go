package fleet

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/relay"
)

// quickOptions notice an outage soon.
func quickOptions(order relay.Order) relay.Options {
	return relay.Options{
		Order: order, Lease: time.Second, Poll: 50 * time.Millisecond, PollMax: 100 * time.Millisecond,
		Backoff: 50 * time.Millisecond, Batch: 20,
	}
}

// overServers is eachOrder over the engines that are reached over a network.
func overServers(t *testing.T, fn func(t *testing.T, d *database, order relay.Order)) {
	t.Helper()
	for _, name := range engines.Names() {
		if name == "sqlite" {
			continue // TestARelayWaitsForALockedFile
		}
		for _, order := range orders() {
			t.Run(name+"/"+order.String(), func(t *testing.T) {
				t.Parallel()
				fn(t, newDatabase(t, engines.Get(t, name)), order)
			})
		}
	}
}

func TestARelayWaitsForADatabaseThatIsAwayAtTheStart(t *testing.T) {
	overServers(t, func(t *testing.T, d *database, order relay.Order) {
		p, url := newProxy(t, d.url)
		p.refuse()
		rc := newReceiver(t, nil)
		f := newFleet(t, url, rc, quickOptions(order))
		r := f.start()
		ids := d.fill(t, 100)
		eventually(t, 10*time.Second, "the relay says that the database is away", func() bool { return r.log() != "" })
		p.accept(t)
		eventually(t, 20*time.Second, "all have arrived", func() bool { return rc.distinct() == len(ids) })
		d.awaitSettled(t, 10*time.Second)
		r.stop(t)
		rc.wantAll(t, ids)
	})
}

func TestARelayGoesOnAfterItsConnectionsWereCut(t *testing.T) {
	overServers(t, func(t *testing.T, d *database, order relay.Order) {
		p, url := newProxy(t, d.url)
		rc := newReceiver(t, nil)
		f := newFleet(t, url, rc, quickOptions(order))
		r := f.start()
		stop := d.trickle(t, 5*time.Millisecond, 1)
		for range 3 {
			from := rc.count()
			eventually(t, 20*time.Second, "events arrive", func() bool { return rc.count() >= from+50 })
			p.refuse()
			quiet(t, rc)
			p.accept(t)
		}
		ids := stop()
		eventually(t, 20*time.Second, "all have arrived", func() bool { return rc.distinct() == len(ids) })
		d.awaitSettled(t, 10*time.Second)
		r.stop(t)
		rc.wantAll(t, ids)
		if s := d.stats(t); s.Dead != 0 {
			t.Errorf("%d dead letters", s.Dead)
		}
	})
}

// quiet waits until nothing has arrived for half a second.
func quiet(t *testing.T, rc *receiver) {
	t.Helper()
	eventually(t, 20*time.Second, "nothing arrives any more", func() bool { return time.Since(rc.last().At) > 500*time.Millisecond })
}

// A black hole answers nothing and closes nothing. Whatever waits for an answer on an old connection must give up by
// itself: of two relays one is busy or stands by, and then both are idle.
func TestARelayGoesOnAfterItsConnectionsWereSwallowed(t *testing.T) {
	overServers(t, func(t *testing.T, d *database, order relay.Order) {
		p, url := newProxy(t, d.url)
		rc := newReceiver(t, nil)
		f := newFleet(t, url, rc, quickOptions(order))
		f.startAll(2)
		stop := d.trickle(t, 5*time.Millisecond, 1)
		eventually(t, 20*time.Second, "events arrive", func() bool { return rc.count() >= 50 })
		p.swallow()
		quiet(t, rc)
		p.newRoute()
		from := rc.count()
		eventually(t, 10*time.Second, "events arrive over new connections", func() bool { return rc.count() > from })
		ids := stop()
		eventually(t, 10*time.Second, "all have arrived", func() bool { return rc.distinct() == len(ids) })
		d.awaitSettled(t, 10*time.Second)

		p.swallow()
		begun := time.Now()
		eventually(t, 2*time.Second, "the relays have looked into the hole", func() bool { return time.Since(begun) > time.Second })
		p.newRoute()
		ids = append(ids, d.fill(t, 100)...)
		eventually(t, 10*time.Second, "all have arrived over new connections", func() bool { return rc.distinct() == len(ids) })
		d.awaitSettled(t, 10*time.Second)
		f.stopAll()
		rc.wantAll(t, ids)
		if s := d.stats(t); s.Dead != 0 {
			t.Errorf("%d dead letters", s.Dead)
		}
	})
}

// What an outage is to a server, a lock that somebody keeps is to a file.
func TestARelayWaitsForALockedFile(t *testing.T) {
	for _, order := range orders() {
		t.Run(order.String(), func(t *testing.T) {
			t.Parallel()
			for _, name := range engines.Names() {
				if name == "sqlite" {
					lockedFile(t, newDatabase(t, engines.Get(t, name)), order)
				}
			}
		})
	}
}

func lockedFile(t *testing.T, d *database, order relay.Order) {
	ids := d.fill(t, 100)
	release := d.lockFile(t)
	rc := newReceiver(t, nil)
	f := newFleet(t, d.url+"?_pragma=busy_timeout(50)", rc, quickOptions(order))
	r := f.start()
	eventually(t, 10*time.Second, "the relay says that it can't write", func() bool { return r.log() != "" })
	release()
	eventually(t, 20*time.Second, "all have arrived", func() bool { return rc.distinct() == len(ids) })

	logged := len(r.log())
	release = d.lockFile(t)
	eventually(t, 10*time.Second, "the relay says that it can't write", func() bool { return len(r.log()) > logged })
	release()
	ids = append(ids, d.fill(t, 100)...)
	eventually(t, 20*time.Second, "all have arrived", func() bool { return rc.distinct() == len(ids) })
	d.awaitSettled(t, 10*time.Second)
	r.stop(t)
	rc.wantAll(t, ids)
}

// lockFile takes SQLite's write lock.
func (d *database) lockFile(t *testing.T) (release func()) {
	t.Helper()
	c, err := d.DB().Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		_, err := c.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK")
		if err := errors.Join(err, c.Close()); err != nil && !errors.Is(err, sql.ErrConnDone) {
			t.Fatal(err)
		}
	}
}
