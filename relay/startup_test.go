package relay_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// After a copy of the tables a record stands under a number that is to be given again. A relay does not start beside that,
// whatever it hands on to: its handlers would take the new event for the old one, and leave it out.
func TestARelayDoesNotStartWithANumberingThatIsBehind(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		if _, err := o.DB().Exec("INSERT INTO outbox_deliveries (seq, handler, state) VALUES (7, 'h', 1)"); err != nil {
			t.Fatal(err)
		}
		handlers := handlersOf(t, o, nil, relay.Handler{Name: "h", Topics: []string{"*"}, Tx: nothing})
		outside := relay.PublisherFunc(func(context.Context, relay.Message) error { return nil })
		for what, to := range map[string]relay.Publisher{"handlers": handlers, "a publisher": outside} {
			ctx, stop := context.WithTimeout(t.Context(), 20*time.Second) // nothing would end it otherwise
			defer stop()
			if err := relayOf(t, o, to, nil).Run(ctx); !errors.Is(err, outbox.ErrSequenceBehind) {
				t.Errorf("%s: %v, want outbox.ErrSequenceBehind", what, err)
			}
		}
	})
}
