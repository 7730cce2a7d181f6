package relay

import (
	"context"
	"slices"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
)

// fewest is how many events of a key may be in hand however slow the publisher is.
const fewest = 8

// keyInHand is what is in hand of a key.
type keyInHand struct {
	count int
	last  int64 // the highest seq
}

// keyReader sorts what a turn has read.
type keyReader struct {
	s      *keySource
	t      *turn
	room   int              // how many may be taken
	lowest map[string]int64 // holders, by key
	keys   map[string]keyInHand
	most   int     // in hand, of a key
	apart  []int64 // partitions that are read apart
	past   bool    // it is they that are read

	holders, waiting, stuck []*event
	beside                  []*event // a slow call of their key: for flushEvery
	behind                  map[string][]int64
	early, paused           []int64
	misplaced               map[int64][]int64 // by the partition they belong to
}

// mostOfKey bounds how many events of one key are in hand: no more than the publisher gets through in a while, so that a
// busy key leaves room for the others.
func (s *keySource) mostOfKey() int {
	most := 2*s.r.opts.Batch + 1
	if pace := time.Duration(s.r.pace.Load()); pace > 0 {
		most = min(most, max(fewest, int(flushEvery/pace)))
	}
	return most
}

func (k *keyReader) take(e *event) {
	if key := e.msg.Key; key != "" {
		in := k.keys[key]
		k.keys[key] = keyInHand{in.count + 1, max(in.last, e.msg.Seq)}
	}
}

// sort takes events or puts them aside. put is whether it changed anything.
func (k *keyReader) sort(ctx context.Context, tx dialect.Tx, events []*event) (put bool, err error) {
	k.holders, k.waiting, k.stuck, k.beside, k.early, k.paused = nil, nil, nil, nil, nil, nil
	k.behind, k.misplaced = make(map[string][]int64), make(map[int64][]int64)
	var gone []ended
	for _, e := range events {
		p := partitionOf(e)
		token, owned := k.s.partitions[p]
		lowest, held := k.lowest[e.msg.Key]
		switch {
		case k.past && e.partition < 0 && !slices.Contains(k.apart, p):
			continue // for the next look at the others
		case !owned, k.s.leaving[p], k.s.fresh[p], k.past != slices.Contains(k.apart, p):
			k.misplaced[p] = append(k.misplaced[p], e.msg.Seq)
			continue
		case k.notDue(e): // which is not forgotten behind a holder
			continue
		case held && e.msg.Key != "" && e.msg.Seq > lowest:
			k.behind[e.msg.Key] = append(k.behind[e.msg.Key], e.msg.Seq)
			continue
		case k.putAside(e):
			continue
		}
		if e.claimant() != "" {
			put = true
			buried, err := k.s.r.unclaim(ctx, tx, e)
			if err != nil {
				return put, err
			}
			if buried {
				gone = append(gone, ended{e, outcome{verdict: dead, err: errCrashed}})
				if k.s.r.opts.OnDead == HoldKey {
					k.heldBy(e)
				}
				continue
			}
		}
		if k.isFull(e) {
			k.heldBy(&event{msg: Message{Event: e.msg.Event, Seq: k.keys[e.msg.Key].last}})
			k.behind[e.msg.Key] = append(k.behind[e.msg.Key], e.msg.Seq)
			continue
		}
		k.take(e)
		e.scope, e.msg.Token = scopeOf(e), token
		k.t.batch = append(k.t.batch, e)
	}
	k.t.buried = append(k.t.buried, gone...)
	wrote, err := k.write(ctx, tx)
	if err != nil {
		return put, err
	}
	many := 0
	for _, seqs := range k.misplaced {
		many += len(seqs)
	}
	if 2*many > len(events) && k.t.more { // there will be more of them behind
		if err := k.s.placeMany(ctx, tx); err != nil {
			return put, err
		}
	}
	_, err = k.s.letGo(ctx, tx, gone)
	return put || wrote, err
}

// isFull reports whether what is in hand of an event's key is enough for now. What comes before that is taken
// all the same; where it can't be, putAside has had it.
func (k *keyReader) isFull(e *event) bool {
	key := e.msg.Key
	in := k.keys[key]
	if key == "" || e.msg.Seq < in.last {
		return false
	}
	return in.count >= k.most || in.count > 0 && k.t.slow[key]
}

// scopeOf is what an event is in order with: its key, or nothing.
func scopeOf(e *event) string {
	if e.msg.Key == "" {
		return "\x00" + e.msg.ID // no key has a NUL
	}
	return e.msg.Key
}

// heldBy notes that e holds its key from now on.
func (k *keyReader) heldBy(e *event) {
	k.holders = append(k.holders, e)
	if lowest, held := k.lowest[e.msg.Key]; e.msg.Key != "" && (!held || e.msg.Seq < lowest) {
		k.lowest[e.msg.Key] = e.msg.Seq
	}
}

// notDue puts aside e until it is due: a delayed event that was never tried, which holds nobody up, or one that failed in
// another order.
func (k *keyReader) notDue(e *event) bool {
	switch {
	case e.wait() <= 0, e.neverDelayed():
		return false
	case e.msg.Attempt == 1:
		k.early = append(k.early, e.msg.Seq)
	default:
		k.waiting = append(k.waiting, e)
		k.heldBy(e)
	}
	return true
}

// putAside puts aside e while its topic is paused, or a publisher of this process has it still, or has had one that comes after it in
// its key for long.
func (k *keyReader) putAside(e *event) bool {
	switch {
	case k.s.pauses.has(e.msg.Topic):
		k.paused = append(k.paused, e.msg.Seq)
	case k.s.r.stuck.holds(e.msg.Seq), k.s.r.stuck.holdsKey(e.msg.Key):
		k.stuck = append(k.stuck, e)
	case k.t.slow[e.msg.Key] && k.keys[e.msg.Key].count > 0 && e.msg.Seq < k.keys[e.msg.Key].last: // the hand would not take it
		k.beside = append(k.beside, e)
	default:
		return false
	}
	k.heldBy(e)
	return true
}
