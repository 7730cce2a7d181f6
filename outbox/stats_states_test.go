package outbox_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func (b *box) stats() outbox.Stats {
	b.Helper()
	s, err := b.Stats(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func TestStatsTellStatesApart(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.put(
			event{seq: 1, state: published, age: 99 * time.Hour}, event{seq: 2, state: scheduled, due: time.Hour, age: 98 * time.Hour},
			event{seq: 12, state: scheduled, due: -time.Minute, age: 96 * time.Hour},
			event{seq: 3, state: paused, age: 97 * time.Hour},
			event{seq: 4, state: pending, age: time.Hour, due: -time.Hour}, event{seq: 5, state: pending, due: time.Hour},
			event{seq: 6, state: waiting, key: "k", due: -time.Second}, event{seq: 7, state: waiting, key: "l", due: time.Hour},
			event{seq: 8, state: held, key: "k", group: 6}, event{seq: 9, state: held, key: "k", group: 6}, event{seq: 10, state: held, key: "l", group: 7},
			event{seq: 11, state: dead},
		)
		b.hold(6, "k", time.Minute)
		b.hold(9, "k", time.Minute)
		b.hold(7, "l", time.Minute)
		b.count("refused", 12, time.Hour)
		b.count("drained", 0, time.Hour)
		s := b.stats()
		if !about(s.OldestPending, time.Hour) || !about(time.Since(s.LastOutcome), time.Hour-time.Second) {
			t.Errorf("the oldest is %v old, the last outcome of %v", s.OldestPending, s.LastOutcome)
		}
		s.OldestPending, s.LastOutcome = 0, time.Time{}
		want := outbox.Stats{
			Pending: 8, Due: 3, Waiting: 2, Held: 3, HeldKeys: 2,
			Paused: 1, Scheduled: 1, Dead: 1, Published: 1, Refused: 12,
		}
		if !reflect.DeepEqual(s, want) {
			t.Errorf("got  %+v\nwant %+v", s, want)
		}
	})
}

func TestTheOldestPendingEventMayBeHeldOrWaiting(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		want := func(age time.Duration) {
			t.Helper()
			if got := b.stats().OldestPending; got != age && !about(got, age) {
				t.Errorf("got %v, want %v", got, age)
			}
		}
		want(0)
		b.put(event{seq: 3, state: pending, age: time.Hour, due: -time.Hour})
		want(time.Hour)
		b.put(event{seq: 2, state: held, group: 1, age: 2 * time.Hour})
		want(2 * time.Hour)
		b.put(event{seq: 1, state: waiting, age: 3 * time.Hour})
		want(3 * time.Hour)
		b.mustPause("t")
		want(3 * time.Hour)
		b.mustPause(outbox.AllTopics)
		want(0)
	})
}

func TestOldestPendingCountsFromWhenAnEventWasDue(t *testing.T) {
	const minute, hour, week = time.Minute, time.Hour, 7 * 24 * time.Hour
	cases := []struct {
		name   string
		events []event
		want   time.Duration
	}{
		{"never tried", []event{{seq: 1, age: hour, due: -hour}}, hour},
		{"due before it was written, as plain SQL may say", []event{{seq: 1, age: minute, due: -week}}, minute},
		{"delayed, due, and met by no relay", []event{{seq: 1, state: scheduled, age: week, due: -minute}}, minute},
		{"delayed, and not due", []event{{seq: 1, state: scheduled, age: week, due: minute}}, 0},
		{"delayed, and made pending", []event{{seq: 1, age: week, due: -minute}}, minute},
		{"delayed, beside an older one", []event{{seq: 1, age: week, due: -minute}, {seq: 2, age: hour, due: -hour}}, hour},
		{"delayed, and in hand for the first time", []event{{seq: 1, age: week, due: minute, attempts: 1, claimed: "c"}}, 0},
		{"waiting for its next try", []event{{seq: 1, age: hour, due: minute, attempts: 9, failed: hour}}, hour},
		{"waiting for its next try, which is due", []event{{seq: 1, age: hour, due: -time.Second, attempts: 9, failed: hour}}, hour},
		{"in hand again", []event{{seq: 1, age: hour, due: minute, attempts: 9, failed: hour, claimed: "c"}}, hour},
		{"put off without a failure", []event{{seq: 1, age: hour, due: minute}}, hour},
		{"put off without a failure, and due again", []event{{seq: 1, age: hour, due: -time.Second, token: 7}}, hour},
		{"put off with a reason, and due again", []event{{seq: 1, age: hour, due: -time.Second, lastError: "another release's"}}, hour},
		{"requeued, with what it was given up for", []event{{seq: 1, age: week, due: -minute, before: 11, token: 7, lastError: "no"}}, minute},
		{"waiting, behind one that is in hand", []event{{seq: 1, age: minute, due: minute, attempts: 1, claimed: "c"}, {seq: 2, age: hour, due: minute, attempts: 9, failed: hour}}, hour},
		{"waiting aside", []event{{seq: 1, state: waiting, age: hour, due: minute, attempts: 9, failed: hour}}, hour},
		{"requeued", []event{{seq: 1, age: week, due: -minute, before: 11}}, minute},
		{"requeued, and waiting for its next try", []event{{seq: 1, age: week, due: minute, before: 11, attempts: 3, failed: hour}}, hour},
		{"requeued, and waiting aside", []event{{seq: 1, state: waiting, age: week, due: minute, before: 11, attempts: 3, failed: hour}}, hour},
		{"requeued, and in hand", []event{{seq: 1, age: week, due: minute, before: 11, attempts: 1, claimed: "c"}}, 0},
	}
	eachBox(t, func(t *testing.T, b *box) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				b := b.emptied(t)
				b.put(c.events...)
				if got := b.stats().OldestPending; got != c.want && (c.want == 0 || !about(got, c.want)) {
					t.Errorf("got %v, want %v", got, c.want)
				}
			})
		}
	})
}

// Whatever no relay has met since it was due.
func TestStatsLagAndHealthAgreeOnWhatIsDue(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		for _, state := range []int{pending, scheduled, waiting} {
			b := b.emptied(t)
			b.put(event{seq: 1, state: state, age: 2 * time.Hour, due: -time.Hour, failed: time.Hour})
			s := b.stats()
			lags, err := b.Lag(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.Due != 1 || s.Pending != 1 || s.Scheduled != 0 || s.OldestPending < time.Hour || len(lags) != 1 || lags[0].Due != 1 {
				t.Errorf("state %d: %+v, %+v", state, s, lags)
			}
			if err := b.Health(t.Context(), outbox.HealthOptions{MaxLag: 30 * time.Minute}); !errors.Is(err, outbox.ErrUnhealthy) {
				t.Errorf("state %d: %v", state, err)
			}
		}
	})
}

func TestStatsLeaveOutTheLeasesOfPartitions(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.exec(`INSERT INTO {leases} (name, owner) VALUES ('key/00', 'r'), ('key/63', ''), ('order', ''), ('total', 'r'), ('keynote', '')`)
		var names []string
		for _, l := range b.stats().Leases {
			names = append(names, l.Name)
		}
		if want := []string{"keynote", "total"}; !reflect.DeepEqual(names, want) {
			t.Errorf("got %q, want %q", names, want)
		}
	})
}
