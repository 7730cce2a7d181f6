package relay

import (
	"time"
)

// mostDeliveries bounds the webhook deliveries that one transaction makes: its end must come well before that of the lease,
// and whoever numbers events waits for it.
const mostDeliveries = 20_000

// portion is what of all a turn settles; the rest stays in hand for the next one. Only published events make deliveries, so
// all else goes at once: what has failed must hold back what is behind it.
func (r *Relay) portion(all []ended) (now, later []ended) {
	if !r.feeds() {
		return all, nil
	}
	var topics []string
	for _, x := range all {
		if x.o.verdict == published {
			topics = append(topics, x.e.msg.Topic)
		}
	}
	n := r.fanout.Fits(topics, int(r.fanRows.Load()))
	if n == len(topics) {
		return all, nil
	}
	for _, x := range all {
		if x.o.verdict == published {
			if n--; n < 0 {
				later = append(later, x)
				continue
			}
		}
		now = append(now, x)
	}
	return now, later
}

// settled adapts the bound to how long a turn took: one that takes most of a lease, or fails, is followed by smaller ones.
func (r *Relay) settled(t *turn, took time.Duration, err error) {
	if !r.feeds() || countRecorded(t.ended) == 0 {
		return
	}
	switch most := r.fanRows.Load(); {
	case err != nil, took > r.opts.Lease/4:
		r.fanRows.Store(max(most/2, 1))
	case took < r.opts.Lease/16:
		r.fanRows.Store(min(2*most, mostDeliveries))
	}
}
