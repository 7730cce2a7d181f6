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

// What an event costs a relay with a feed and without, from pending to published and kept, where the destination costs
// nothing. Side by side, in turns, so that what else the machine does falls on both.
func BenchmarkFeed(b *testing.B) {
	const events, keys, turns = 3000, 500, 4
	for _, name := range engines.Names() {
		e := engines.Get(b, name)
		b.Run(name, func(b *testing.B) {
			spent := map[bool]time.Duration{}
			for b.Loop() {
				for turn := range turns {
					on := turn%2 == 1
					spent[on] += drainOnce(b, e, on, events, keys)
				}
			}
			n := time.Duration(b.N * events * turns / 2)
			b.ReportMetric(float64((spent[false]/n).Nanoseconds())/1000, "off-µs/event")
			b.ReportMetric(float64((spent[true]/n).Nanoseconds())/1000, "on-µs/event")
		})
	}
}

func drainOnce(b *testing.B, e *engines.Engine, feed bool, events, keys int) time.Duration {
	b.Helper()
	db, d, err := all.Open(e.NewDatabase(b))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := migrations.Up(b.Context(), db, d, nil); err != nil {
		b.Fatal(err)
	}
	o, err := outbox.New(db, d, &outbox.Options{Feed: feed})
	if err != nil {
		b.Fatal(err)
	}
	err = o.InTx(b.Context(), func(ctx context.Context, tx *sql.Tx) error {
		list := make([]outbox.Event, events)
		for i := range list {
			list[i] = outbox.Event{Topic: "t", Key: key(i % keys), Payload: fmt.Append(nil, "event ", i)}
		}
		_, err := o.Write(ctx, tx, list...)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	none := relay.PublisherFunc(func(context.Context, relay.Message) error { return nil })
	r, err := relay.New(o, none, &relay.Options{Retention: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	from := time.Now()
	if n, err := r.Drain(b.Context()); n != events || err != nil {
		b.Fatal(n, err)
	}
	return time.Since(from)
}
