package conformance

import (
	"context"
	"database/sql"
	"slices"
	"sync"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// crew are handlers that note their calls, and leave an effect in their transaction.
type crew struct {
	t *env

	mu    sync.Mutex // guards calls
	calls map[string][]string
	names []string
}

func (t *env) crew() *crew { return &crew{t: t, calls: make(map[string][]string)} }

// one is a handler of all of conformance's events; fn, if not nil, comes after the effect.
func (c *crew) one(name string, fn relay.HandlerFunc) relay.Handler {
	i := slices.Index(c.names, name)
	if i < 0 {
		i = len(c.names)
		c.names = append(c.names, name)
	}
	return relay.Handler{Name: name, Topics: []string{"conformance"}, From: relay.FromOldest, Tx: func(ctx context.Context, tx *sql.Tx, m relay.Message) error {
		c.called(name, m)
		if _, err := tx.ExecContext(ctx, c.t.sql.SQL(`INSERT INTO conformance_host (id, n) VALUES (?, 0)`), 100*m.Seq+int64(i)); err != nil {
			return err
		}
		if fn == nil {
			return nil
		}
		return fn(ctx, tx, m)
	}}
}

func (c *crew) called(name string, m relay.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[name] = append(c.calls[name], m.ID)
}

// of are the events that a handler was called with, in order.
func (c *crew) of(name string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls[name])
}

func (c *crew) wantCalls(what string, want map[string]int) {
	c.t.Helper()
	for name, n := range want {
		if got := len(c.of(name)); got != n {
			c.t.Errorf("%s: %q was called %d times, want %d", what, name, got, n)
		}
	}
}

// wantEffects fails the case unless each handler has had so many effects.
func (c *crew) wantEffects(what string, want map[string]int) {
	c.t.Helper()
	for name, n := range want {
		got := c.t.number(`SELECT COUNT(*) FROM conformance_host WHERE id % 100 = ?`, slices.Index(c.names, name))
		if int(got) != n {
			c.t.Errorf("%s: %q has %d effects, want %d", what, name, got, n)
		}
	}
}

// with makes a relay on o with these handlers.
func (c *crew) with(o *outbox.Outbox, opts *relay.Options, ho *relay.HandlersOptions, list ...relay.Handler) *relay.Relay {
	c.t.Helper()
	h, err := relay.NewHandlers(o, ho)
	if err != nil {
		c.t.Fatalf("make handlers: %v", err)
	}
	for _, one := range list {
		if err := h.Add(one); err != nil {
			c.t.Fatalf("add a handler: %v", err)
		}
	}
	return c.t.relayOn(o, h, opts)
}

// settled waits until no event is left, but so many dead letters.
func (t *env) settled(dead int64) {
	t.Helper()
	t.eventually("all events are settled", func() bool {
		return t.number(`SELECT COUNT(*) FROM {events} WHERE state NOT IN (1, 2)`) == 0
	})
	if n := t.number(`SELECT COUNT(*) FROM {events} WHERE state = 2`); n != dead {
		t.Errorf("%d dead letters, want %d:%s", n, dead, describe(t.records()))
	}
}

// runUntil runs a relay until no event is left, but so many dead letters.
func (t *env) runUntilSettled(r *relay.Relay, dead int64) {
	t.Helper()
	stop := t.start(r)
	t.settled(dead)
	t.mustStop(stop)
}

// delivery is a record of an event in a handler.
type delivery struct {
	state, attempts int64
	lastError       string
}

func (t *env) deliveries() map[string]delivery {
	t.Helper()
	found, err := t.db.QueryContext(t.ctx(), t.sql.SQL(`SELECT handler, state, attempts, last_error FROM {deliveries}`))
	if err != nil {
		t.Fatalf("read the deliveries: %v", err)
	}
	defer found.Close()
	all := make(map[string]delivery)
	for found.Next() {
		var name string
		var d delivery
		if err := found.Scan(&name, &d.state, &d.attempts, &d.lastError); err != nil {
			t.Fatalf("read the deliveries: %v", err)
		}
		all[name] = d
	}
	return all
}

func reject(context.Context, *sql.Tx, relay.Message) error { return relay.Reject(errNo) }

func refuse(context.Context, *sql.Tx, relay.Message) error { return errNo }

// failUntil fails before an attempt.
func failUntil(attempt int) relay.HandlerFunc {
	return func(_ context.Context, _ *sql.Tx, m relay.Message) error {
		if m.Attempt < attempt {
			return errNo
		}
		return nil
	}
}
