package webhook

import (
	"context"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// RefillRange makes deliveries of all events between two positions in the feed, both taken, that are kept, have one of the
// subscription's topics, and have no delivery in whatever state: of what was published before there was the subscription, or
// numbered by a back-fill. What was delivered so long ago that Retention has deleted its delivery is made again. to 0: up to the
// last position. Its answer and its errors are those of Refill, with ErrGone where part of the range is purged, and so is the order
// in which what it makes is sent. It gives up nothing: what was missed and is not made, outside of the range or purged, stays in Info.
func (w *Webhooks) RefillRange(ctx context.Context, name string, from, to int64) (int, error) {
	if to == 0 {
		to = noEnd
	}
	r, err := w.newRefill(ctx, name, from, to)
	if err == nil {
		err = r.whole(ctx)
	}
	return r.result(ctx, err)
}

// whole makes what has no delivery in the range, marked or not, a step at a time.
func (r *refill) whole(ctx context.Context) error {
	for at := r.from; at <= r.to; {
		n, last := 0, at
		err := r.inTx(ctx, func(tx dialect.Tx) (lowest int64, err error) {
			n, lowest, last, err = r.wholeStep(ctx, tx, at)
			return lowest, err
		})
		if err != nil {
			return err
		}
		r.total, at = r.total+n, last+1
	}
	return nil
}

// wholeStep makes the first deliveries from a position on, and answers up to where it came. What is purged keeps its marks.
func (r *refill) wholeStep(ctx context.Context, tx dialect.Tx, at int64) (made int, lowest, last int64, err error) {
	patterns, purged, err := r.begin(ctx, tx)
	if err != nil {
		return 0, 0, 0, err
	}
	if at <= purged.Seq {
		r.gone = &outbox.GoneError{Oldest: purged}
	}
	if at = max(at, purged.Seq+1); at > r.to {
		return 0, 0, r.to, nil
	}
	marks, err := r.w.missedRanges(ctx, tx, r.id)
	if err != nil {
		return 0, 0, 0, err
	}
	return r.deliver(ctx, tx, patterns, marks, at, r.to)
}
