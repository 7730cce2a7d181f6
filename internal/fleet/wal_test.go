package fleet

import (
	"database/sql"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// SQLite's log grows for as long as one reader stays where it is. None of ours does, busy or idle: another process can empty it.
func TestNobodyKeepsSQLitesLogFromBeingEmptied(t *testing.T) {
	for _, order := range orders() {
		for name, handlers := range map[string][]string{"feed and webhooks": nil, "handlers": {"a"}} {
			t.Run(order.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				for _, name := range engines.Names() {
					if name == "sqlite" {
						logEmptied(t, newDatabase(t, engines.Get(t, name)), order, handlers)
					}
				}
			})
		}
	}
}

func logEmptied(t *testing.T, d *database, order relay.Order, handlers []string) {
	rc := newReceiver(t, func(receipt) answer {
		time.Sleep(time.Millisecond)
		return answer{}
	})
	f := newFleet(t, d.url, rc, relay.Options{Order: order, Poll: 20 * time.Millisecond, PollMax: 50 * time.Millisecond, Batch: 20, Retention: time.Hour})
	f.handlers = handlers
	d.openAccounts(t, "a")
	if handlers == nil {
		f.feed, f.webhooks = true, true
		d.subscribeOne(t)
	}
	f.startAll(2)
	d.awaitRelays(t, 2)
	if handlers == nil {
		eventually(t, 20*time.Second, "the feed is on", func() bool {
			_, err := d.Feed().Head(t.Context())
			return err == nil
		})
		follow(t, d)
	} else {
		d.awaitHandler(t, "a")
	}

	other, _, err := all.Open(d.url + "?_pragma=busy_timeout(200)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	empties := func() bool {
		t.Helper()
		var busy, log, moved int
		if err := other.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved); err != nil {
			t.Fatal(err)
		}
		return busy == 0 && log == 0
	}
	const rounds, events = 5, 40
	for range rounds {
		d.addAmounts(t, events)
		eventually(t, 10*time.Second, "the log is emptied beside busy relays", empties)
	}
	eventually(t, time.Minute, "all is published", func() bool { return d.stats(t).Published == rounds*events })
	for range rounds {
		eventually(t, 10*time.Second, "the log is emptied beside idle relays", empties)
		time.Sleep(50 * time.Millisecond) // a look or two
	}

	// And who does stay where it is would have been seen.
	reader := d.reading(t)
	d.addAmounts(t, 1)
	if empties() {
		t.Error("the log was emptied beside a reader that stays where it is")
	}
	reader()
	eventually(t, 10*time.Second, "the log is emptied when the reader is gone", empties)
	f.stopAll()
}

// subscribeOne makes a subscription whose endpoint takes all.
func (d *database) subscribeOne(t *testing.T) {
	t.Helper()
	o, err := outbox.New(d.DB(), d.Dialect(), &outbox.Options{Feed: true})
	if err != nil {
		t.Fatal(err)
	}
	w, err := webhooksOf(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&hookEndpoint{times: make(map[int]int)})
	t.Cleanup(server.Close)
	if _, err := w.Create(t.Context(), webhook.Subscription{Name: "all", URL: server.URL, Topics: []string{"*"}}); err != nil {
		t.Fatal(err)
	}
}

// reading opens a transaction that has read.
func (d *database) reading(t *testing.T) (end func()) {
	t.Helper()
	tx, err := d.DB().BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+d.Table("events")).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return func() { _ = tx.Rollback() }
}
