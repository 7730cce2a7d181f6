package relay

import (
	"context"
	"fmt"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/fanout"
)

// fanOut makes the webhook deliveries of events in the transaction that has numbered them, so that none is missed or doubled:
// an event gets its number once. subscriptions is how often those have changed.
func (r *Relay) fanOut(ctx context.Context, tx dialect.Tx, subscriptions int64, all []numbered) error {
	events := make([]fanout.Event, len(all))
	for i, n := range all {
		events[i] = fanout.Event{FeedSeq: n.feedSeq, Seq: n.e.msg.Seq, Topic: n.e.msg.Topic}
	}
	if err := r.fanout.Deliver(ctx, tx, subscriptions, events); err != nil {
		return fmt.Errorf("fan out: %w", err)
	}
	return nil
}
