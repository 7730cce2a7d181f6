package outbox_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func (b *box) paused() (topics []string) {
	b.Helper()
	pauses, err := b.Pauses(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range pauses {
		if !about(time.Since(p.Since), -time.Second) {
			b.Errorf("%q is paused since %v", p.Topic, p.Since)
		}
		topics = append(topics, p.Topic)
	}
	return topics
}

func (b *box) wantPaused(want ...string) {
	b.Helper()
	if got := b.paused(); !slices.Equal(got, want) {
		b.Errorf("paused are %q, want %q", got, want)
	}
}

func (b *box) mustPause(topics ...string) {
	b.Helper()
	if err := b.Pause(b.Context(), topics...); err != nil {
		b.Fatal(err)
	}
}

func (b *box) mustResume(topics ...string) {
	b.Helper()
	if err := b.Resume(b.Context(), topics...); err != nil {
		b.Fatal(err)
	}
}

func TestAPauseLastsUntilItIsResumed(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.db.SetMaxOpenConns(1)
		b.wantPaused()
		b.mustPause("orders", "Orders", "orders ", "orders")
		b.mustPause("orders")
		b.wantPaused("Orders", "orders", "orders ")
		b.exec(`UPDATE {pauses} SET since_ms = 1`)
		b.mustPause("orders")
		if n := b.number(`SELECT COUNT(*) FROM {pauses} WHERE since_ms = 1`); n != 3 {
			t.Error("a second pause of a topic changes since when it is paused")
		}
		b.exec(`DELETE FROM {pauses} WHERE since_ms = 1 AND topic <> 'orders'`)
		b.mustPause(outbox.AllTopics)
		b.mustResume("nothing", "orders")
		b.mustResume("orders")
		b.wantPaused(outbox.AllTopics)
		b.mustResume(outbox.AllTopics)
		b.wantPaused()
	})
}

func TestPauseAndResumeRefuseWhatIsNoTopic(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		for _, topics := range [][]string{nil, {""}, {"ok", ""}, {"\xff"}, {"a\x00"}, {strings.Repeat("x", outbox.MaxTopicLen+1)}} {
			for name, call := range map[string]func(context.Context, ...string) error{"pause": b.Pause, "resume": b.Resume} {
				if err := call(t.Context(), topics...); !errors.Is(err, outbox.ErrInvalidOptions) {
					t.Errorf("%s %q: %v", name, topics, err)
				}
			}
		}
		if err := b.Pause(t.Context(), "ok", "orders.*"); !errors.Is(err, outbox.ErrInvalidOptions) {
			t.Errorf("a pattern: %v", err)
		}
		b.mustResume("orders.*") // of a release that took it
		b.wantPaused()
	})
}

func TestASingleTopicIsNotPausedBesideARelayOfOrderTotal(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.live("keys", "per_key", "", 0)
		b.live("none", "none", "", 0)
		b.live("killed", "total", "", -time.Minute)
		b.live("of a clock set back", "total", "", time.Hour)
		b.live("crash", "crash", "", 0)
		b.mustPause("before")
		b.live("total", "total", "", 0)
		if err := b.Pause(t.Context(), outbox.AllTopics, "single"); !errors.Is(err, outbox.ErrPauseTotal) {
			t.Errorf("a single topic: %v", err)
		}
		b.wantPaused("before")
		b.mustPause(outbox.AllTopics)
		b.wantPaused(outbox.AllTopics, "before")
		b.mustResume("before") // for it, no order is a hindrance
	})
}

// woken counts.
type woken struct{ times int }

func (w *woken) Wake() { w.times++ }

func TestResumePutsBackWhatIsNoLongerPaused(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.db.SetMaxOpenConns(1)
		const each = 600 // more than a step
		b.put(event{seq: 1, topic: "a", state: paused, due: time.Hour}, event{seq: 2, topic: "b", state: paused})
		b.double(1, each, 10_000)
		b.double(2, each, 20_000)
		b.put(event{seq: 30_000, topic: "a", state: held, group: 1}, event{seq: 30_001, topic: "a", state: dead})
		due := b.number(`SELECT due_ms FROM {events} WHERE seq = 1`)
		w := &woken{}
		defer b.Attach(w)()
		wantBack := func(when string, wantA, wantB int64) {
			t.Helper()
			const back = `SELECT COUNT(*) FROM {events} WHERE state = 0 AND topic = ?`
			if a, b := b.number(back, "a"), b.number(back, "b"); a != wantA || b != wantB {
				t.Errorf("%s: %d of a and %d of b are back, want %d and %d", when, a, b, wantA, wantB)
			}
		}
		b.mustPause("a", "b", outbox.AllTopics)
		b.mustResume("a")
		wantBack("all is paused", 0, 0)
		b.mustResume(outbox.AllTopics)
		wantBack("b is paused", each, 0)
		if n := b.number(`SELECT COUNT(*) FROM {events} WHERE state = 0 AND due_ms = ?`, due); n != each {
			t.Errorf("%d are due as they were, want %d", n, each)
		}
		if n := b.number(`SELECT COUNT(*) FROM {events} WHERE state IN (2, 4)`); n != 2 {
			t.Error("what was not put aside is changed")
		}
		b.exec(`DELETE FROM {pauses}`) // as a Resume leaves it that ended half-way
		b.mustResume("whatever")
		wantBack("nothing is paused", each, each)
		if w.times != 3 {
			t.Errorf("relays were woken %d times", w.times)
		}
	})
}

// double makes n - 1 copies of a row.
func (b *box) double(seq int64, n int, after int64) {
	b.Helper()
	tx, err := b.db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer tx.Rollback()
	text := b.sql.SQL(`INSERT INTO {events} (seq, id, topic, event_key, payload, state, due_ms)
SELECT ?, ?, topic, event_key, payload, state, due_ms FROM {events} WHERE seq = ?`)
	for i := after; i < after+int64(n)-1; i++ {
		if _, err := tx.ExecContext(b.Context(), text, i, eventID(i), seq); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

func TestAResumeThatFailsHalfWayHasEndedThePause(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.mustPause("a")
		b.exec(`DROP TABLE {events}`)
		if err := b.Resume(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "the pause is over") {
			t.Errorf("got %v", err)
		}
		b.wantPaused()
	})
}
