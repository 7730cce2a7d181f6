package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// counter counts what reaches the server, by its text.
type counter struct {
	mu    sync.Mutex // guards texts
	texts map[string]int
}

func (c *counter) before(query string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts[query]++
	return nil
}

// reset begins to count anew.
func (c *counter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts = make(map[string]int)
}

// costs are statements, and beside them what begins and ends transactions, with their settings. timed are the statements
// that go by the clock, whatever the relay does, each in a transaction of its own: signs of life and counters.
type costs struct{ statements, commits, control, timed int }

func isTimed(text string) bool {
	return strings.Contains(text, "SET seen_ms") || strings.Contains(text, "outbox_counters")
}

func isControl(text string) bool {
	for _, prefix := range []string{hookdb.Connect, hookdb.Begin, hookdb.Commit, hookdb.Rollback, "START TRANSACTION", "SET "} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

func (c *counter) costs() (sum costs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for text, n := range c.texts {
		if !isControl(text) {
			sum.statements += n
			if isTimed(text) {
				sum.timed += n
			}
			continue
		}
		sum.control += n
		if text == hookdb.Commit {
			sum.commits += n
		}
	}
	return sum
}

// list is for the log: each text with its number, the most frequent first.
func (c *counter) list() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	texts := slices.Collect(maps.Keys(c.texts))
	slices.SortFunc(texts, func(a, b string) int { return c.texts[b] - c.texts[a] })
	var b strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%6d %.110s", c.texts[text], strings.ReplaceAll(text, "\n", " "))
	}
	return b.String()
}

// counted is d through a pool whose statements are counted.
func counted(t *testing.T, d *database) (*database, *counter) {
	t.Helper()
	c := &counter{texts: make(map[string]int)}
	db := hookdb.Open(d.DB(), hookdb.Hooks{Before: c.before})
	db.SetMaxIdleConns(10)
	t.Cleanup(func() { _ = db.Close() })
	o, err := outbox.New(db, d.Dialect(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &database{Outbox: o, engine: d.engine, url: d.url}, c
}

// Ten relays in each order with nothing to do, on default settings.
func TestAnIdleRelayAsksSeldom(t *testing.T) {
	t.Parallel()
	const (
		relays  = 10
		settled = 5 * time.Second  // the waits have grown, and the shares are fair
		window  = 10 * time.Second // each gives one sign of life in it
		most    = 60               // statements a minute
	)
	for _, name := range engines.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counters := make(map[relay.Order]*counter)
			for _, order := range orders() {
				d, c := counted(t, newDatabase(t, engines.Get(t, name)))
				counters[order] = c
				d.runRelays(t, relays, order)
			}
			<-time.After(settled)
			for _, c := range counters {
				c.reset()
			}
			from := time.Now()
			<-time.After(window)
			took := time.Since(from).Minutes()
			for _, order := range orders() {
				c := counters[order]
				sum := c.costs()
				each := func(n int) float64 { return float64(n) / took / relays }
				t.Logf("%v: %.1f statements a minute and relay, and %.1f that begin and end transactions",
					order, each(sum.statements), each(sum.control))
				if n := each(sum.statements); n == 0 || n > most {
					t.Errorf("%v: want at most %d statements, and not none:%s", order, most, c.list())
				}
			}
		})
	}
}

// runRelays runs so many in this process, on default settings.
func (d *database) runRelays(t *testing.T, n int, order relay.Order) {
	t.Helper()
	for range n {
		r, err := relay.New(d.Outbox, new(noted), &relay.Options{Order: order})
		if err != nil {
			t.Fatal(err)
		}
		runRelay(t, r)
	}
	d.awaitRelays(t, int64(n))
	if order == relay.OrderPerKey {
		d.awaitShares(t, n, 20*time.Second)
	}
}

// gate is a publisher that does nothing, and that only once it is open.
type gate struct {
	open      chan struct{}
	published atomic.Int64
}

func (g *gate) Publish(context.Context, relay.Message) error {
	<-g.open
	g.published.Add(1)
	return nil
}

// batches counts them.
type batches struct{ atomic.Int64 }

func (b *batches) Claimed(int) { b.Add(1) }

// On the happy path a batch costs four statements and one commit at most; in order per key, whatever partitions the
// relay owns: here all.
func TestABusyRelayTakesFewStatementsABatch(t *testing.T) {
	const events, keys, batch = 5000, 1000, 100
	eachOrder(t, func(t *testing.T, plain *database, order relay.Order) {
		d, c := counted(t, plain)
		g, n := &gate{open: make(chan struct{})}, new(batches)
		r, err := relay.New(d.Outbox, g, &relay.Options{Order: order, Batch: batch, Observers: []relay.Observer{n}})
		if err != nil {
			t.Fatal(err)
		}
		runRelay(t, r)
		d.awaitRelays(t, 1)
		if order == relay.OrderPerKey {
			d.awaitShares(t, 1, 20*time.Second)
			<-time.After(time.Second) // it has looked for held keys, and knows that there are none
		}
		plain.write(t, ofKeys("event", events, keys)...)
		eventually(t, 20*time.Second, "a batch is in hand", func() bool { return n.Load() > 0 })
		c.reset()
		close(g.open)
		eventually(t, time.Minute, "all are published", func() bool { return g.published.Load() == events })
		sum := c.costs()
		each := func(k int) float64 { return float64(k) / float64(n.Load()) }
		t.Logf("%d batches: %.2f statements and %.2f commits each, and with all that begins and ends transactions %.2f",
			n.Load(), each(sum.statements), each(sum.commits), each(sum.statements+sum.control))
		if full := int64(events / batch); n.Load() > full+2 {
			t.Errorf("it took %d batches, want %d full ones", n.Load(), full)
		}
		// The gate opens on a batch that was held up: what of it ends first may be recorded by itself, once.
		if each(sum.statements) > 4 || each(sum.commits-sum.timed-1) > 1 {
			t.Errorf("want at most 4 statements and 1 commit each:%s", c.list())
		}
		plain.awaitSettled(t, 20*time.Second)
	})
}
