package fleet

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// What a relay process with handlers tells the receiver, as the topic of a receipt.
const (
	insideHandler = "inside " // before its commit
	afterHandler  = "after "  // after its commit, before the event is settled
)

// handlersOf is a relay whose handlers add the amount of an event to the account of its key, each to a balance of its own.
func handlersOf(o *outbox.Outbox, told *publisher, c *processConfig) (*relay.Relay, error) {
	h, err := relay.NewHandlers(o, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range c.Handlers {
		err := h.Add(relay.Handler{Name: name, Topics: []string{"*"}, MaxAttempts: c.Attempts, Tx: func(ctx context.Context, tx *sql.Tx, m relay.Message) error {
			amount, err := strconv.Atoi(string(m.Payload))
			if err != nil {
				return relay.Permanent(err)
			}
			text := o.Dialect().Bind("UPDATE accounts SET balance = balance + ?, n = n + 1 WHERE handler = ? AND id = ?")
			if _, err := tx.ExecContext(ctx, text, amount, name, m.Key); err != nil {
				return err
			}
			m.Topic = insideHandler + name
			return told.Publish(ctx, m)
		}})
		if err != nil {
			return nil, err
		}
	}
	c.Options.Observers = []relay.Observer{handledWatch{told}}
	return relay.New(o, h, &c.Options)
}

type handledWatch struct{ told *publisher }

func (w handledWatch) Handled(handler string, m relay.Message, _ time.Duration) {
	m.Topic = afterHandler + handler
	_ = w.told.Publish(context.Background(), m) // who listens may end this process
}

const accounts = 20

func (d *database) openAccounts(t *testing.T, handlers ...string) {
	t.Helper()
	d.exec(t, `CREATE TABLE accounts (handler VARCHAR(20) NOT NULL, id VARCHAR(20) NOT NULL, balance BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (handler, id))`)
	for _, handler := range handlers {
		for i := range accounts {
			d.exec(t, `INSERT INTO accounts (handler, id, balance, n) VALUES (?, ?, 0, 0)`, handler, key(i))
		}
	}
}

// addAmounts writes events that add 1, 2, 3, … to accounts, and answers the sum.
func (d *database) addAmounts(t *testing.T, n int) (sum int64) {
	t.Helper()
	for from := 0; from < n; from += 250 {
		var list []outbox.Event
		for i := from; i < min(n, from+250); i++ {
			list = append(list, outbox.Event{Topic: "t", Key: key(i % accounts), Payload: fmt.Append(nil, i+1)})
			sum += int64(i + 1)
		}
		d.write(t, list...)
	}
	return sum
}

func (d *database) wantHandled(t *testing.T, handler string, n, sum int64) {
	t.Helper()
	gotSum := d.number(t, "SELECT CAST(COALESCE(SUM(balance), 0) AS DECIMAL(20, 0)) FROM accounts WHERE handler = '"+handler+"'")
	gotN := d.number(t, "SELECT CAST(COALESCE(SUM(n), 0) AS DECIMAL(20, 0)) FROM accounts WHERE handler = '"+handler+"'")
	if gotN != n || sum >= 0 && gotSum != sum {
		t.Errorf("handler %s: %d effects with a sum of %d, want %d with %d", handler, gotN, gotSum, n, sum)
	}
}

// A third of the kills falls inside of a handler, a third between its commit and the settle, a third a moment later.
func TestHandlersHaveEachEffectOnceWhenTheirProcessesAreKilled(t *testing.T) {
	const events, kills, relays = 2000, 30, 3
	eachEngine(t, func(t *testing.T, d *database) {
		points := killPoints(t, kills, 2*events-100) // at which count of receipts
		var f *fleet
		var told atomic.Int64
		killed := make(chan string, kills)
		rc := newReceiver(t, func(r receipt) answer {
			at := int(told.Add(1))
			if !points[at] {
				return answer{}
			}
			p := f.named(r.Relay)
			strike := func() {
				p.signal(syscall.SIGKILL)
				f.start()
				killed <- r.Topic
			}
			if at%3 > 0 {
				strike()
			} else {
				time.AfterFunc(rand.N(5*time.Millisecond), strike)
			}
			return answer{}
		})
		f = newFleet(t, d.url, rc, relay.Options{
			Lease: racing.Slow * 1200 * time.Millisecond, Poll: 20 * time.Millisecond, PollMax: 50 * time.Millisecond,
			Backoff: 20 * time.Millisecond, BackoffMax: 100 * time.Millisecond, Batch: 50,
		})
		f.handlers = []string{"a"}
		d.openAccounts(t, "a")
		f.start()
		d.awaitHandler(t, "a")
		sum := d.addAmounts(t, events)
		f.startAll(relays - 1)
		where := make(map[string]int)
		for range kills {
			select {
			case topic := <-killed:
				where[topic]++
			case <-time.After(patience * time.Minute):
				t.Fatal("not every kill happened")
			}
		}
		d.awaitSettled(t, 2*time.Minute)
		f.stopAll()
		d.wantHandled(t, "a", events, sum)
		if s := d.stats(t); s.Dead != 0 {
			t.Errorf("%d dead letters", s.Dead)
		}
		t.Logf("killed %v; %d calls", where, rc.count())
		if where[insideHandler+"a"] == 0 || where[afterHandler+"a"] == 0 {
			t.Errorf("killed %v: want some of each", where)
		}
	})
}

// awaitHandler waits until a handler has begun.
func (d *database) awaitHandler(t *testing.T, name string) {
	t.Helper()
	eventually(t, 20*time.Second, "handler "+name+" has begun", func() bool {
		return d.number(t, "SELECT COUNT(*) FROM "+d.Table("handlers")+" WHERE from_seq >= 0 AND name = '"+name+"'") == 1
	})
}

func TestAKillInsideOfAHandlerIsOneAttempt(t *testing.T) {
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) { killedInside(t, d, order, 3, 0) })
}

// The relay has 11 attempts, and the handlers have one: its first kill must be its last.
func TestAKillInsideOfAHandlerWithOneAttemptIsAll(t *testing.T) {
	eachOrder(t, func(t *testing.T, d *database, order relay.Order) { killedInside(t, d, order, 11, 1) })
}

func killedInside(t *testing.T, d *database, order relay.Order, relays, own int) {
	var f *fleet
	var calls atomic.Int64
	rc := newReceiver(t, func(r receipt) answer {
		if r.Topic == insideHandler+"b" {
			calls.Add(1)
			f.named(r.Relay).signal(syscall.SIGKILL)
			f.start()
		}
		return answer{}
	})
	f = newFleet(t, d.url, rc, relay.Options{
		Order: order, Lease: racing.Slow * time.Second, Poll: 20 * time.Millisecond, PollMax: 50 * time.Millisecond, MaxAttempts: relays,
	})
	f.handlers, f.attempts = []string{"a", "b"}, own
	d.openAccounts(t, "a", "b")
	f.start()
	d.awaitHandler(t, "a")
	d.awaitHandler(t, "b")
	d.addAmounts(t, 1)
	eventually(t, time.Minute, "it is dead", func() bool { return d.stats(t).Dead == 1 })
	f.stopAll()
	want := int64(relays)
	if own > 0 {
		want = int64(own)
	}
	if n := calls.Load(); n != want {
		t.Errorf("the handler was called %d times, want %d", n, want)
	}
	d.wantHandled(t, "a", 1, 1)
	d.wantHandled(t, "b", 0, 0)
}

// Each handler has what its start rule says, once, while two releases run.
func TestTwoReleasesWithDifferentHandlersLoseNothing(t *testing.T) {
	const events = 500 // before the second release, and as many after
	eachEngine(t, func(t *testing.T, d *database) {
		rc := newReceiver(t, nil)
		f := newFleet(t, d.url, rc, relay.Options{
			Lease: 10 * time.Second, Poll: 10 * time.Millisecond, PollMax: 40 * time.Millisecond,
		})
		d.openAccounts(t, "a", "b", "c")
		f.handlers = []string{"a", "b"}
		f.start()
		d.awaitHandler(t, "a")
		d.awaitHandler(t, "b")
		sum := d.addAmounts(t, events)
		f.handlers = []string{"b", "c"}
		f.start()
		d.awaitHandler(t, "c")
		d.addAmounts(t, events)
		d.awaitSettled(t, 2*time.Minute)
		f.stopAll()
		d.wantHandled(t, "a", 2*events, 2*sum)
		d.wantHandled(t, "b", 2*events, 2*sum)
		d.wantHandled(t, "c", events, sum)
	})
}
