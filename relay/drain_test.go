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

// A failure in the middle holds what is behind it; in the end all is published, in OrderTotal in order.
func TestDrainPublishesEverythingThroughFailures(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range allOrders {
			t.Run(order.String(), func(t *testing.T) {
				ctx, o := t.Context(), newOutbox(t, e)
				if err := o.Check(ctx); err != nil {
					t.Fatal(err)
				}
				err := o.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
					for i := range 250 {
						if _, err := o.Write(ctx, tx, outbox.Event{Topic: "t", Key: "k", Payload: []byte(fmt.Sprint(i)), Headers: map[string]string{"a": "b"}}); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				fail := 3
				r, err := relay.New(o, relay.PublisherFunc(func(ctx context.Context, m relay.Message) error {
					if m.Seq == 120 && fail > 0 {
						fail--
						return relay.RetryAfter(0, fmt.Errorf("no %d", fail))
					}
					got = append(got, string(m.Payload))
					return nil
				}), &relay.Options{Order: order, Concurrency: map[bool]int{true: 1}[order == relay.OrderNone]})
				if err != nil {
					t.Fatal(err)
				}
				n, err := r.Drain(ctx)
				if err != nil || n != 250 {
					t.Fatalf("%d published, %v", n, err)
				}
				if order == relay.OrderTotal {
					for i, g := range got {
						if g != fmt.Sprint(i) {
							t.Fatalf("event %s came as number %d", g, i)
						}
					}
				}
				if s, err := o.Stats(ctx); err != nil || s.Pending+s.Dead+s.Scheduled != 0 {
					t.Errorf("%+v, %v: something is left", s, err)
				}
			})
		}
	})
}
