package relay_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/relay"
)

// Of two relays of another order the first was killed, and its time is over in an hour. The second one lives: its next sign of
// life tells, whatever the first does.
func TestARelayOfAnotherOrderThatLivesIsSeenBesideOneThatWasKilled(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		outside := relay.PublisherFunc(func(context.Context, relay.Message) error { return nil })
		stop := running(t, relayOf(t, o, outside, &relay.Options{Order: relay.OrderNone, Lease: 900 * time.Millisecond}))
		defer stop()
		var id string
		until(t, "the second one lives", func() bool {
			return o.DB().QueryRow("SELECT id FROM outbox_relays").Scan(&id) == nil
		})
		const killed = `INSERT INTO outbox_relays (id, order_name, since_ms, seen_ms, until_ms)
SELECT '0', order_name, since_ms, seen_ms, seen_ms + 3600000 FROM outbox_relays` // its id is the lowest
		if _, err := o.DB().Exec(killed); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := relayOf(t, o, outside, &relay.Options{Order: relay.OrderPerKey, Poll: 20 * time.Millisecond}).RunOnce(ctx)
		if !errors.Is(err, relay.ErrOrder) || !strings.Contains(err.Error(), id) {
			t.Errorf("%v, want relay.ErrOrder by relay %s", err, id)
		}
	})
}
