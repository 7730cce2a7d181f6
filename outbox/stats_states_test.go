package outbox_test

import (
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
			event{seq: 3, state: paused, age: 97 * time.Hour},
			event{seq: 4, state: pending, age: time.Hour}, event{seq: 5, state: pending, due: time.Hour},
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
			Pending: 7, Due: 2, Waiting: 2, Held: 3, HeldKeys: 2,
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
		b.put(event{seq: 3, state: pending, age: time.Hour})
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
