package relay_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// BenchmarkDrain is one event through a relay whose publisher does nothing, beside the bare loop that no relay can
// beat: select a batch, delete it.
func BenchmarkDrain(b *testing.B) {
	b.Setenv(engines.DirVariable, engines.DiskDir())
	for _, name := range engines.Names() {
		b.Run(name, func(b *testing.B) {
			ctx, o := b.Context(), newOutbox(b, engines.Get(b, name))
			for _, batch := range []int{100, 500} {
				b.Run(fmt.Sprintf("bare/%d", batch), func(b *testing.B) {
					fill(b, o, b.N)
					b.ResetTimer()
					bareLoop(b, o, batch)
				})
				for _, order := range allOrders {
					b.Run(fmt.Sprintf("%v/%d", order, batch), func(b *testing.B) {
						fill(b, o, b.N)
						r, err := relay.New(o, relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }),
							&relay.Options{Order: order, Batch: batch})
						if err != nil {
							b.Fatal(err)
						}
						b.ResetTimer()
						if n, err := r.Drain(ctx); n != b.N || err != nil {
							b.Fatal(n, err)
						}
					})
				}
			}
		})
	}
}

func fill(b *testing.B, o *outbox.Outbox, n int) {
	b.Helper()
	payload := make([]byte, 256)
	for n > 0 {
		k := min(n, 1000)
		events := make([]outbox.Event, k)
		for i := range events {
			events[i] = outbox.Event{Topic: "bench", Key: fmt.Sprint(i), Payload: payload}
		}
		err := o.InTx(b.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := o.Write(ctx, tx, events...)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		n -= k
	}
}

func bareLoop(b *testing.B, o *outbox.Outbox, batch int) {
	b.Helper()
	read := o.Dialect().Bind("SELECT seq, id, topic, event_key, payload FROM outbox_events ORDER BY seq LIMIT ?")
	for {
		rows, err := o.DB().Query(read, batch)
		if err != nil {
			b.Fatal(err)
		}
		var seqs []any
		list := ""
		for rows.Next() {
			var seq int64
			var id, topic, key string
			var payload []byte
			if err := rows.Scan(&seq, &id, &topic, &key, &payload); err != nil {
				b.Fatal(err)
			}
			seqs = append(seqs, seq)
			list += ", ?"
		}
		if err := rows.Close(); err != nil {
			b.Fatal(err)
		}
		if len(seqs) == 0 {
			return
		}
		if _, err := o.DB().Exec(o.Dialect().Bind("DELETE FROM outbox_events WHERE seq IN ("+list[2:]+")"), seqs...); err != nil {
			b.Fatal(err)
		}
	}
}
