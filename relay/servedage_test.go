package relay_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// What was left for another release is as old as its first failure, however long it has waited for that release before:
// DeadLetterAfter counts from there.
func TestWhatWasLeftIsDeadByTheAgeOfItsFirstFailure(t *testing.T) {
	const crashed = "attempts = 1, settled_ms = -5, due_ms = 5 + since_ms" // called alone, and not heard of again
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for what, c := range map[string]struct {
			is       string // what its record says besides
			attempts int
			calls    int64 // after which it would be dead
			dead     bool
		}{
			"never called":                    {"attempts = 0", 3, 3, false},
			"never called, one attempt":       {"attempts = 0", 1, 1, false},
			"one that crashed":                {crashed, 2, 1, true},
			"one that crashed just now":       {"attempts = 1, settled_ms = -5", 2, 1, false},
			"one that failed":                 {"attempts = 1", 2, 1, true},
			"one that was called and crashed": {"attempts = 1, settled_ms = 1", 2, 2, false},
		} {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				o := newOutbox(t, e)
				leaveOne(t, o)
				age(t, o)
				if _, err := o.DB().Exec("UPDATE outbox_deliveries SET " + c.is); err != nil {
					t.Fatal(err)
				}
				var calls atomic.Int64
				late := relay.Handler{Name: "late", Topics: []string{"*"}, MaxAttempts: c.attempts,
					NoTx: func(context.Context, relay.Message) error { calls.Add(1); return errNo }}
				stop := running(t, relayOf(t, o, handlersOf(t, o, nil, late), &relay.Options{
					Poll: 5 * time.Millisecond, Backoff: time.Millisecond, BackoffMax: time.Millisecond, DeadLetterAfter: 30 * time.Minute,
				}))
				defer func() { stop() }()
				dead := func() bool {
					s, err := o.Stats(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					return s.Dead == 1
				}
				if !c.dead {
					until(t, "it is called more often", func() bool { return calls.Load() > c.calls+2 })
					if dead() {
						t.Fatalf("it is dead after %d calls, though it failed just now", calls.Load())
					}
					age(t, o)
				}
				until(t, "it is dead by its age", dead)
				if c.dead && calls.Load() != c.calls {
					t.Errorf("it was called %d times, want %d", calls.Load(), c.calls)
				}
			})
		}
	})
}

// A handler that was unavailable has not failed: its record is as old as its first failure from then on.
func TestARecordIsAsOldAsItsFirstFailure(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		write(t, o, outbox.Event{Topic: "t"})
		answers := []error{relay.Unavailable(relay.RetryAfter(0, errNo)), relay.RetryAfter(0, errNo), relay.RetryAfter(0, errNo)}
		var since []int64
		one := relay.Handler{Name: "one", Topics: []string{"*"}, From: relay.FromOldest, NoTx: func(context.Context, relay.Message) error {
			since = append(since, sinceOf(t, o))
			if len(since) > 1 {
				age(t, o)
			}
			if len(since) > len(answers) {
				return nil
			}
			return answers[len(since)-1]
		}}
		drain(t, relayOf(t, o, handlersOf(t, o, nil, one), &relay.Options{Order: relay.OrderTotal, Retention: time.Hour}), 1)
		const hour = 3600_000
		if len(since) != 4 || since[1] == 0 || since[2] < since[1]-hour/2 || since[3] != since[2]-hour {
			t.Errorf("before each call its record was since %d: want none, when it was unavailable, its first failure, and that an hour older", since)
		}
	})
}

// leaveOne has a relay leave an event for a handler that it does not know.
func leaveOne(t *testing.T, o *outbox.Outbox) {
	t.Helper()
	late := handlersOf(t, o, nil, relay.Handler{Name: "late", Topics: []string{"*"}, Tx: nothing})
	relayOf(t, o, late, nil)
	if err := late.Announce(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, o, outbox.Event{Topic: "t", Key: "k"})
	drain(t, relayOf(t, o, handlersOf(t, o, nil), nil), 0)
}

// age makes all records an hour older.
func age(t *testing.T, o *outbox.Outbox) {
	t.Helper()
	if _, err := o.DB().Exec("UPDATE outbox_deliveries SET since_ms = since_ms - 3600000"); err != nil {
		t.Error(err)
	}
}

// sinceOf is since when the one record is there; 0: there is none.
func sinceOf(t *testing.T, o *outbox.Outbox) (ms int64) {
	t.Helper()
	if err := o.DB().QueryRow("SELECT COALESCE(MAX(since_ms), 0) FROM outbox_deliveries").Scan(&ms); err != nil {
		t.Error(err)
	}
	return ms
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
