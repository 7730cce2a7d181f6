package fleet

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// timed notes when each hand-over began; each takes a while, so that a batch lasts longer than the lease.
type timed struct {
	takes time.Duration

	mu sync.Mutex // guards the rest
	at []time.Time
	ids,
	tokens map[string]int64
}

func (p *timed) Publish(_ context.Context, m relay.Message) error {
	p.mu.Lock()
	p.at = append(p.at, time.Now())
	p.ids[m.ID]++
	p.tokens[m.ID] = m.Token
	p.mu.Unlock()
	time.Sleep(p.takes)
	return nil
}

func (p *timed) begun() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time(nil), p.at...)
}

func (p *timed) distinct() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ids)
}

const poolLease = racing.Slow * time.Second

// smallPool is the host's, with a relay on it, or on a pool of its own.
func smallPool(t *testing.T, d *database, order relay.Order, own bool) (host *sql.DB, p *timed) {
	t.Helper()
	host, dia, err := all.Open(d.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	host.SetMaxOpenConns(4)
	o, err := outbox.New(host, dia, nil)
	if err != nil {
		t.Fatal(err)
	}
	options := relay.Options{Order: order, Lease: poolLease, Poll: 20 * time.Millisecond, Batch: 200}
	p = &timed{takes: racing.Slow * 10 * time.Millisecond, ids: make(map[string]int64), tokens: make(map[string]int64)}
	if order != relay.OrderTotal {
		options.Concurrency = 1 // so that it takes as long in every order
	}
	if own {
		options.DB = d.DB()
	}
	r, err := relay.New(o, p, &options)
	if err != nil {
		t.Fatal(err)
	}
	runRelay(t, r)
	return host, p
}

// useUp takes every connection of the pool, as a slow query on each does, and keeps them for so long.
func useUp(t *testing.T, host *sql.DB, d time.Duration) (from, to time.Time) {
	t.Helper()
	var held []*sql.Conn
	for range host.Stats().MaxOpenConnections {
		c, err := host.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
	}
	from = time.Now()
	<-time.After(d)
	to = time.Now()
	for _, c := range held {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return from, to
}

func TestARelayOnAPoolThatIsUsedUpStopsBeforeItsLeaseEndsAndResumes(t *testing.T) {
	const events = 600
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) {
		ids := d.fill(t, events)
		host, p := smallPool(t, d, order, false)
		eventually(t, 20*time.Second, "events arrive", func() bool { return p.distinct() > 20 })
		from, to := useUp(t, host, 2*poolLease)
		late := 0
		for _, at := range p.begun() {
			if at.After(from.Add(poolLease)) && at.Before(to) {
				late++
			}
		}
		if late > 0 {
			t.Errorf("%d hand-overs began more than a lease after the last connection was gone", late)
		}
		eventually(t, 30*time.Second, "it has resumed, and all have arrived", func() bool { return p.distinct() == len(ids) })
		d.awaitSettled(t, 20*time.Second)
		if s := d.stats(t); s.Dead != 0 {
			t.Errorf("%d dead letters", s.Dead)
		}
	})
}

func TestARelayWithAPoolOfItsOwnGoesOnWhileTheHostsIsUsedUp(t *testing.T) {
	const events = 600
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) {
		ids := d.fill(t, events)
		host, p := smallPool(t, d, order, true)
		eventually(t, 20*time.Second, "events arrive", func() bool { return p.distinct() > 20 })
		from, to := useUp(t, host, 2*poolLease)
		last, gap := from, time.Duration(0)
		for _, at := range p.begun() {
			if at.After(from) && at.Before(to) {
				last, gap = at, max(gap, at.Sub(last))
			}
		}
		gap = max(gap, to.Sub(last))
		t.Logf("the longest pause was %v", gap)
		if gap > poolLease/2 {
			t.Errorf("nothing was handed over for %v while the host's pool was used up", gap)
		}
		eventually(t, 30*time.Second, "all have arrived", func() bool { return p.distinct() == len(ids) })
		d.awaitSettled(t, 20*time.Second)
		for id, n := range p.ids {
			if n != 1 {
				t.Errorf("event %s was handed over %d times", id, n)
			}
			if order == relay.OrderTotal && p.tokens[id] != p.tokens[ids[0]] {
				t.Errorf("event %s was handed over under token %d, the first under %d: the lease was lost", id, p.tokens[id], p.tokens[ids[0]])
			}
		}
	})
}
