package outbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func TestHealth(t *testing.T) {
	long, short := -time.Hour, -time.Minute // due for longer and for shorter than MaxLag
	stale := func(b *box) {
		b.put(event{seq: 1, topic: "orders", state: pending, due: long})
		b.count("drained", 0, time.Hour)
	}
	cases := []struct {
		name string
		fill func(b *box)
		says []string // nil: it is healthy
	}{
		{"an empty outbox", func(*box) {}, nil},
		{"due for long, and no relay ever", func(b *box) { b.put(event{seq: 1, topic: "orders", due: long}) },
			[]string{`topic "orders"`, "due for 1h0m", "has ever recorded", "no relay lives"}},
		{"due for long, and nothing recorded for as long", stale, []string{`topic "orders"`, "recorded an outcome since 20", "no relay lives"}},
		{"a relay lives, and does nothing", func(b *box) { stale(b); b.live("r", "total", "", 0) }, []string{"1 relay lives", "log"}},
		{"relays live, and do nothing", func(b *box) {
			stale(b)
			b.live("r", "total", "", 0)
			b.live("s", "total", "", 0)
			b.live("killed", "total", "", -time.Hour)
		}, []string{"2 relays live"}},
		{"waiting for another try for long", func(b *box) { b.put(event{seq: 1, state: waiting, due: long}) }, []string{"no relay"}},
		{"delayed, and its time is over for long", func(b *box) { b.put(event{seq: 1, state: scheduled, due: long}) }, []string{"no relay"}},
		{"the oldest of several", func(b *box) {
			b.put(event{seq: 1, topic: "new", due: -40 * time.Minute}, event{seq: 2, topic: "old", state: waiting, due: long})
		}, []string{`topic "old"`, "1h0m"}},

		{"a large backlog that is drained", func(b *box) {
			b.put(event{seq: 1, due: long}, event{seq: 2, due: long})
			b.count("drained", 0, time.Minute)
		}, nil},
		{"due for a short while, and nothing recorded for long", func(b *box) {
			b.put(event{seq: 1, due: short}, event{seq: 2, state: waiting, due: short}, event{seq: 3, state: scheduled, due: short})
			b.count("drained", 0, time.Hour)
		}, nil},
		{"nothing is due", func(b *box) {
			b.put(event{seq: 1, due: time.Hour, age: 2 * time.Hour}, event{seq: 2, state: published, due: long}, event{seq: 3, state: dead, due: long},
				event{seq: 4, state: scheduled, due: time.Hour}, event{seq: 5, state: waiting, due: time.Hour})
		}, nil},
		{"held behind a dead letter", func(b *box) { b.put(event{seq: 1, state: dead, due: long}, event{seq: 2, state: held, group: 1}) }, nil},
		{"all is paused", func(b *box) { stale(b); b.mustPause(outbox.AllTopics) }, nil},
		{"its topic is paused", func(b *box) { stale(b); b.mustPause("orders") }, nil},
		{"put aside", func(b *box) { b.put(event{seq: 1, state: paused, due: long}) }, nil},
		{"another topic is paused", func(b *box) {
			stale(b)
			b.put(event{seq: 2, topic: "paused", due: 2 * long})
			b.mustPause("paused")
		}, []string{`topic "orders"`}},
		{"more is paused than is looked at, and no relay has put it aside", func(b *box) {
			b.put(event{seq: 1, topic: "paused", due: long})
			b.double(1, outbox.LagSample, 2)
			b.mustPause("paused")
		}, []string{"paused topics", "due for 1h0m", "no relay lives"}},
		{"resumed a moment ago", func(b *box) { stale(b); b.mustPause("orders"); b.mustResume("orders") }, nil},
		{"resumed long ago", func(b *box) { stale(b); b.count("resumed", 1, time.Hour) }, []string{"no relay"}},
		{"a Resume of nothing is no sign of life", func(b *box) { stale(b); b.mustResume("orders") }, []string{"no relay"}},
		{"a relay with a long lease may say late that it works", func(b *box) {
			b.put(event{seq: 1, due: long})
			b.count("drained", 0, 35*time.Minute)
			b.live("r", "total", "", 0)
			b.exec(`UPDATE {relays} SET until_ms = seen_ms + 1800000`)
		}, nil},
	}
	eachBox(t, func(t *testing.T, b *box) {
		b.db.SetMaxOpenConns(1)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				b := b.emptied(t)
				c.fill(b)
				wantHealth(t, b.Health(t.Context(), outbox.HealthOptions{MaxLag: 30 * time.Minute}), c.says)
			})
		}
	})
}

func wantHealth(t *testing.T, err error, says []string) {
	t.Helper()
	if says == nil {
		if err != nil {
			t.Error(err)
		}
		return
	}
	var unhealthy *outbox.UnhealthyError
	if !errors.Is(err, outbox.ErrUnhealthy) || !errors.As(err, &unhealthy) {
		t.Fatalf("got %v", err)
	}
	for _, words := range says {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q is missing in: %v", words, err)
		}
	}
}

func TestHealthTellsWhenItCannotAsk(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		if err := b.Health(t.Context(), outbox.HealthOptions{MaxLag: -1}); !errors.Is(err, outbox.ErrInvalidOptions) {
			t.Errorf("a negative MaxLag: %v", err)
		}
		b.put(event{seq: 1, due: -9 * time.Minute})
		if err := b.Health(t.Context(), outbox.HealthOptions{}); err != nil {
			t.Errorf("due for less than the default: %v", err)
		}
		b.exec(`UPDATE {events} SET due_ms = due_ms - 120000`)
		if err := b.Health(t.Context(), outbox.HealthOptions{}); !errors.Is(err, outbox.ErrUnhealthy) {
			t.Errorf("due for more than the default: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Health(ctx, outbox.HealthOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("the context has ended: %v", err)
		}
		b.exec(`DROP TABLE {counters}`)
		if err := b.Health(t.Context(), outbox.HealthOptions{}); err == nil || errors.Is(err, outbox.ErrUnhealthy) {
			t.Errorf("a table is missing: %v", err)
		}
		b.db.Close()
		if err := b.Health(t.Context(), outbox.HealthOptions{}); err == nil || errors.Is(err, outbox.ErrUnhealthy) {
			t.Errorf("the database is away: %v", err)
		}
	})
}
