package webhook

import (
	"context"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// RefillRange makes deliveries of all events between two positions in the feed, both taken, that are kept, have one of the
// subscription's topics, and have no delivery in whatever state: of what was published before there was the subscription, or
// numbered by a back-fill. What was delivered so long ago that Retention has deleted its delivery is made again. to 0: up to the
// last position. Its answer and its errors are those of Refill, with ErrGone where part of the range is purged. It gives up
// nothing: what was missed and is not made, outside of the range or purged, stays in Info.
func (w *Webhooks) RefillRange(ctx context.Context, name string, from, to int64) (int, error) {
	if to == 0 {
		to = noEnd
	}
	r, err := w.newRefill(ctx, name, from, to)
	if err == nil {
		err = r.missed(ctx) // what else is in the range has no mark in its place
	}
	if err == nil {
		err = r.rest(ctx)
	}
	return r.result(err)
}

// rest makes what has no delivery in the range, a step at a time.
func (r *refill) rest(ctx context.Context) error {
	for at := r.from; at <= r.to; {
		n, last := 0, at
		err := r.w.run(ctx, func(tx dialect.Tx) error {
			patterns, purged, err := r.begin(ctx, tx)
			if err != nil {
				return err
			}
			if at <= purged.Seq {
				r.gone = &outbox.GoneError{Oldest: purged}
			}
			n, last, err = r.deliver(ctx, tx, patterns, at, r.to)
			return err
		})
		if err != nil {
			return err
		}
		r.total, at = r.total+n, last+1
	}
	return nil
}
