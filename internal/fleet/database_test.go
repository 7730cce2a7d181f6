package fleet

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/migrations"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// database is one test's own, as its host sees it.
type database struct {
	*outbox.Outbox
	engine string
	url    string
}

// newDatabase makes an empty outbox.
func newDatabase(t *testing.T, e *engines.Engine) *database {
	t.Helper()
	d := openDatabase(t, e, e.NewDatabase(t))
	if err := migrations.Up(t.Context(), d.DB(), d.Dialect(), nil); err != nil {
		t.Fatal(err)
	}
	return d
}

func openDatabase(t *testing.T, e *engines.Engine, url string) *database {
	t.Helper()
	db, d, err := all.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	o, err := outbox.New(db, d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &database{Outbox: o, engine: e.Name, url: url}
}

// eachEngine runs fn on all engines at once: most of these tests wait for a lease or a poll.
func eachEngine(t *testing.T, fn func(t *testing.T, d *database)) {
	t.Helper()
	for _, name := range engines.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fn(t, newDatabase(t, engines.Get(t, name)))
		})
	}
}

// orders are all that a relay may work in.
func orders() []relay.Order {
	return []relay.Order{relay.OrderTotal, relay.OrderPerKey, relay.OrderNone}
}

// eachOrder runs fn on all engines and in every order at once.
func eachOrder(t *testing.T, fn func(t *testing.T, d *database, order relay.Order)) {
	t.Helper()
	for _, name := range engines.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, order := range orders() {
				t.Run(order.String(), func(t *testing.T) {
					t.Parallel()
					fn(t, newDatabase(t, engines.Get(t, name)), order)
				})
			}
		})
	}
}

// exec runs a statement of the host's.
func (d *database) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := d.DB().ExecContext(t.Context(), d.Dialect().Bind(query), args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// number is the one value that a query of the host's answers.
func (d *database) number(t *testing.T, query string) int64 {
	t.Helper()
	var n int64
	if err := d.DB().QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// ofKeys are n events, of so many keys by turns, with ids prefix-0, prefix-1, …
func ofKeys(prefix string, n, keys int) []outbox.Event {
	events := make([]outbox.Event, n)
	for i := range events {
		events[i] = outbox.Event{ID: fmt.Sprint(prefix, "-", i), Topic: "t", Key: key(i % keys)}
	}
	return events
}

// fill writes n events of seven keys.
func (d *database) fill(t *testing.T, n int) []string {
	t.Helper()
	return d.fillKeys(t, n, 7)
}

// fillKeys writes n events in transactions of up to 500, and answers their ids in the order of insertion.
func (d *database) fillKeys(t *testing.T, n, keys int) []string {
	t.Helper()
	var ids []string
	for len(ids) < n {
		events := make([]outbox.Event, min(500, n-len(ids)))
		for i := range events {
			events[i] = outbox.Event{Topic: "t", Key: key(i % keys), Payload: fmt.Append(nil, "event ", len(ids)+i)}
		}
		ids = append(ids, d.write(t, events...)...)
	}
	return ids
}

func (d *database) write(t *testing.T, events ...outbox.Event) (ids []string) {
	t.Helper()
	err := d.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) (err error) {
		ids, err = d.Write(ctx, tx, events...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func (d *database) stats(t *testing.T) outbox.Stats {
	t.Helper()
	s, err := d.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitRelays waits until n relays have registered.
func (d *database) awaitRelays(t *testing.T, n int64) {
	t.Helper()
	eventually(t, 20*time.Second, fmt.Sprintf("%d relays have registered", n), func() bool {
		return d.number(t, "SELECT COUNT(*) FROM "+d.Table("relays")) == n
	})
}

// awaitSettled waits until nothing is pending.
func (d *database) awaitSettled(t *testing.T, limit time.Duration) {
	t.Helper()
	eventually(t, limit, "everything is settled", func() bool { return d.stats(t).Pending == 0 })
}
