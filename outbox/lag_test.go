package outbox_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func TestLagIsToldByTopic(t *testing.T) {
	eachBox(t, func(t *testing.T, b *box) {
		b.db.SetMaxOpenConns(1)
		lag := func() []outbox.TopicLag {
			t.Helper()
			lags, err := b.Lag(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range lags { // to the hour
				lags[i].Oldest = lags[i].Oldest.Truncate(time.Hour)
			}
			return lags
		}
		if got := lag(); len(got) != 0 {
			t.Errorf("of an empty outbox: %+v", got)
		}
		b.put(
			event{seq: 1, topic: "a", state: pending, due: -time.Hour}, event{seq: 2, topic: "a", state: pending, due: -3 * time.Hour},
			event{seq: 3, topic: "a", state: pending, due: time.Hour},
			event{seq: 4, topic: "b", state: waiting, due: -2 * time.Hour}, event{seq: 5, topic: "b", state: waiting, due: time.Hour},
			event{seq: 6, topic: "c", state: held, group: 1}, event{seq: 7, topic: "c", state: dead, due: -9 * time.Hour},
			event{seq: 8, topic: "c", state: published, due: -9 * time.Hour}, event{seq: 9, topic: "c", state: paused, due: -9 * time.Hour},
			event{seq: 10, topic: "d", state: scheduled, due: -4 * time.Hour}, event{seq: 11, topic: "e", state: scheduled, due: time.Hour},
			event{seq: 12, topic: "B", state: pending, due: -2 * time.Hour},
		)
		want := []outbox.TopicLag{
			{Topic: "d", Oldest: 4 * time.Hour, Due: 1}, {Topic: "a", Oldest: 3 * time.Hour, Due: 2},
			{Topic: "B", Oldest: 2 * time.Hour, Due: 1}, {Topic: "b", Oldest: 2 * time.Hour, Due: 1},
		}
		got := lag()
		if len(got) == 4 && got[2].Topic == "b" { // put a little earlier
			got[2], got[3] = got[3], got[2]
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
		b.mustPause("d", "B", "b")
		if got := lag(); !reflect.DeepEqual(got, want[1:2]) {
			t.Errorf("some are paused: %+v", got)
		}
		b.mustPause(outbox.AllTopics)
		if got := lag(); len(got) != 0 {
			t.Errorf("all is paused: %+v", got)
		}
	})
}
