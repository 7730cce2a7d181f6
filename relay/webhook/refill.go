package webhook

import (
	"context"
	"math"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// noEnd as the last position of a range: up to the last one that there is.
const noEnd = math.MaxInt64

// Refill makes the deliveries that a subscription has missed, paused or disabled, from a position in the feed on, such as
// Info.MissedFrom: of events that are kept and have one of its topics. Nothing that was delivered is made again, whatever
// Retention has deleted. It answers how many it made, also beside an error: steps commit by themselves, and another call goes on
// where this one ended.
//
// The first one is sent when the last step is done, so that an ordered subscription gets all of them in the order of the feed and
// before what else it is owed, but for what a worker has claimed by then. Where the call is cut off, what it has made is sent at once, and
// a minute later where the process was killed: what another call makes comes behind what the subscription has got by then.
//
// Errors: ErrUnknownSubscription; outbox.ErrInvalidOptions for what can't be a name, or a position below 1; outbox.ErrGone, a
// *GoneError, beside the rest being made, where part of what was missed from there on is purged. That stays in Info until it is
// given up by a Refill from a position behind all that is purged.
func (w *Webhooks) Refill(ctx context.Context, name string, from int64) (int, error) {
	r, err := w.newRefill(ctx, name, from, noEnd)
	if err == nil {
		err = r.missed(ctx)
	}
	return r.result(ctx, err)
}

// missed makes what the marks say, a step of a mark at a time.
func (r *refill) missed(ctx context.Context) error {
	for more := true; more; {
		n := 0
		err := r.inTx(ctx, func(tx dialect.Tx) (lowest int64, err error) {
			n, lowest, more, err = r.missedStep(ctx, tx)
			return lowest, err
		})
		if err != nil {
			return err
		}
		r.total += n
	}
	return nil
}

// missedStep makes the first deliveries in the place of the first mark that has any to be made, and leaves marks on both sides
// of them. What is purged keeps its mark, but for one that is given up.
func (r *refill) missedStep(ctx context.Context, tx dialect.Tx) (made int, lowest int64, more bool, err error) {
	patterns, purged, err := r.begin(ctx, tx)
	if err != nil {
		return 0, 0, false, err
	}
	all, err := r.w.missedRanges(ctx, tx, r.id)
	if err != nil {
		return 0, 0, false, err
	}
	for _, m := range all {
		if r.from > purged.Seq && m.from <= purged.Seq {
			whole := m
			m = m.within(purged.Seq+1, m.to)
			if err := r.replace(ctx, tx, whole, m); err != nil {
				return 0, 0, false, err
			}
		}
		asked := m.within(r.from, r.to)
		if !asked.empty() && asked.from <= purged.Seq {
			r.gone = &outbox.GoneError{Oldest: purged}
		}
		asked = asked.within(purged.Seq+1, r.to)
		if asked.empty() {
			continue
		}
		made, lowest, _, err = r.deliver(ctx, tx, patterns, []missedRange{m}, asked.from, asked.to)
		return made, lowest, true, err
	}
	return 0, 0, false, nil
}

// replace puts other marks in the place of one, but for those that are empty.
func (r *refill) replace(ctx context.Context, tx dialect.Tx, m missedRange, by ...missedRange) error {
	if err := r.w.dropMissed(ctx, tx, r.id, m); err != nil {
		return err
	}
	for _, part := range by {
		if part.empty() {
			continue
		}
		if err := r.w.markMissed(ctx, tx, r.id, part); err != nil {
			return err
		}
	}
	return nil
}
