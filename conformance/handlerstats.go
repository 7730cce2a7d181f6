package conformance

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

func handlersForget(t *env) {
	c := t.crew()
	count := func(what string, want int64) {
		t.Helper()
		if n := t.number(`SELECT COUNT(*) FROM {deliveries}`); n != want {
			t.Errorf("%s: %d records, want %d", what, n, want)
		}
	}
	opts := quick(relay.OrderPerKey)
	opts.MaxAttempts = 1
	bad := func(_ context.Context, _ *sql.Tx, m relay.Message) error {
		if m.ID != "good" {
			return errNo
		}
		return nil
	}
	t.write(outbox.Event{ID: "good", Topic: "conformance"}, outbox.Event{ID: "d1", Topic: "conformance"}, outbox.Event{ID: "d2", Topic: "conformance"})
	t.runUntilSettled(c.with(t.o, opts, nil, c.one("a", bad), c.one("b", nil)), 2)
	count("one settled, two dead", 4)
	if n, err := t.o.Discard(t.ctx(), "d1", "good"); n != 1 || err != nil {
		t.Error(n, err)
	}
	count("discarded", 2)
	t.exec(`UPDATE {events} SET due_ms = due_ms - 7200000, settled_ms = settled_ms - 7200000`)
	if n, err := t.o.Purge(t.ctx(), outbox.PurgeOptions{Dead: time.Hour}); n != 1 || err != nil {
		t.Error(n, err)
	}
	count("purged", 0)
	opts.Retention = time.Hour
	t.write(outbox.Event{ID: "good", Topic: "conformance"})
	t.runUntilSettled(c.with(t.o, opts, nil, c.one("a", bad), c.one("b", nil)), 0)
	count("kept", 2)
	t.exec(`UPDATE {events} SET due_ms = due_ms - 7200000, settled_ms = settled_ms - 7200000`)
	if n, err := t.o.Purge(t.ctx(), outbox.PurgeOptions{Published: time.Hour}); n != 1 || err != nil {
		t.Error(n, err)
	}
	count("purged", 0)
}

func handlersStats(t *env) {
	c := t.crew()
	opts := quick(relay.OrderNone)
	opts.Retention, opts.Backoff, opts.BackoffMax = time.Hour, time.Hour, time.Hour
	r := c.with(t.o, opts, nil, c.one("a", nil), c.one("b", reject), c.one("c", refuse))
	t.write(events("e", 3)...)
	t.exec(`UPDATE {events} SET created_ms = created_ms - 60000`)
	t.once(r)
	all, err := t.o.HandlerStats(t.ctx())
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, want := range []outbox.HandlerStats{{Name: "a", Done: 3}, {Name: "b", Rejected: 3}, {Name: "c", Failing: 3, Lag: time.Minute}} {
		got := all[i]
		if got.Since.IsZero() || !slices.Equal(got.Topics, []string{"conformance"}) || got.Lag < want.Lag || got.Lag > want.Lag+t.h.Patience {
			t.Errorf("%+v", got)
		}
		if want.Lag == 0 && got.Lag != 0 {
			t.Errorf("%q lags by %v", got.Name, got.Lag)
		}
		got.Since, got.Topics, got.Lag, want.Lag = time.Time{}, nil, 0, 0
		if got.Name != want.Name || got.Done != want.Done || got.Rejected != want.Rejected || got.Failing != want.Failing || got.Dead+got.Outstanding != 0 {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if err := t.o.RetireHandler(t.ctx(), "nobody"); !errors.Is(err, outbox.ErrUnknownHandler) {
		t.Errorf("an unknown handler was retired: %v", err)
	}
	if err := t.o.RetireHandler(t.ctx(), "c"); err != nil {
		t.Error(err)
	}
	if all, err = t.o.HandlerStats(t.ctx()); err != nil || all[2].Retired.IsZero() || all[2].Lag != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	t.makeDue()
	t.drain(r)
	t.settled(0)
}

// handlerWatch notes what it is told.
type handlerWatch struct {
	mu   sync.Mutex // guards told
	told []string
}

func (w *handlerWatch) tell(what, handler string, m relay.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, what+" "+handler+" "+m.ID)
}

func (w *handlerWatch) Handled(h string, m relay.Message, _ time.Duration) { w.tell("handled", h, m) }

func (w *handlerWatch) Rejected(h string, m relay.Message, _ error, _ time.Duration) {
	w.tell("rejected", h, m)
}

func (w *handlerWatch) HandlerFailed(h string, m relay.Message, _ error, _ time.Duration) {
	w.tell("failed", h, m)
}

func (w *handlerWatch) HandlerDead(h string, m relay.Message, _ error, _ time.Duration) {
	w.tell("dead", h, m)
}

func handlersObserved(t *env) {
	c, w := t.crew(), &handlerWatch{}
	opts := quick(relay.OrderPerKey)
	opts.MaxAttempts, opts.Observers = 2, []relay.Observer{w}
	r := c.with(t.o, opts, nil, c.one("a", nil), c.one("b", reject), c.one("c", refuse))
	t.write(events("e", 1)...)
	t.runUntilSettled(r, 1)
	want := []string{"handled a e-0", "rejected b e-0", "failed c e-0", "dead c e-0"}
	if !slices.Equal(w.told, want) {
		t.Errorf("told %q, want %q", w.told, want)
	}
}
