package relay

import "slices"

// choose cuts a batch so that suspects and rows that can't be read go by themselves, with nothing else in hand.
func (s *session) choose(left inHand, batch []*event) []*event {
	for i, e := range batch {
		if e.broken == nil && !s.alone(left, e) {
			continue
		}
		if i == 0 && len(left.inHand()) == 0 {
			return batch[:1]
		}
		return batch[:i]
	}
	return batch
}

// alone: a suspect goes by itself; with one attempt only, the first crash must name its culprit, so every event does.
func (s *session) alone(left inHand, e *event) bool {
	return s.r.opts.MaxAttempts == 1 || slices.Contains(left.Suspects, e.msg.Seq)
}

// inHand are the events that are handed over or about to be.
func (h inHand) inHand() seqList {
	if h.Alone != 0 {
		return seqList{h.Alone}
	}
	return h.Batch
}

// noteOf is the note for what is left and a batch besides. With nothing else in hand, suspects before the batch are no
// longer pending, since it was read from the beginning.
func (s *session) noteOf(left inHand, batch []*event) inHand {
	if len(batch) == 0 {
		return left
	}
	h, first := left, batch[0].msg.Seq
	if len(left.inHand()) == 0 {
		h.Suspects = slices.DeleteFunc(slices.Clone(h.Suspects), func(seq int64) bool { return seq < first })
	}
	if len(batch) == 1 && s.alone(left, batch[0]) {
		h.Alone, h.Suspects = first, without(h.Suspects, first)
		return h
	}
	h.Prior = h.Prior && len(h.Suspects) > 0
	h.Batch = slices.Clone(h.Batch)
	for _, e := range batch {
		h.Batch = append(h.Batch, e.msg.Seq)
	}
	slices.Sort(h.Batch)
	return h
}

// after is what is left of h once these events have ended: one with an outcome did not end the process, and one
// without has left the hand.
func (h inHand) after(all []ended) inHand {
	over := make(map[int64]verdict, len(all))
	for _, x := range all {
		over[x.e.msg.Seq] = x.o.verdict
	}
	left := inHand{Prior: h.Prior}
	if v, ok := over[h.Alone]; h.Alone != 0 && !ok {
		left.Alone = h.Alone
	} else if h.Alone != 0 && v == untouched {
		left.Suspects = append(left.Suspects, h.Alone) // it did not get its turn
	}
	for _, seq := range h.Batch {
		if _, ok := over[seq]; !ok {
			left.Batch = append(left.Batch, seq)
		}
	}
	for _, seq := range h.Suspects {
		if v, ok := over[seq]; !ok || v == untouched {
			left.Suspects = append(left.Suspects, seq)
		}
	}
	left.Prior = left.Prior && (len(left.Suspects) > 0 || left.Alone != 0)
	return left
}

// dropped is h with nothing in hand: what was noted there has not been handed over, or not to an end.
func (h inHand) dropped() inHand {
	if h.Alone != 0 {
		h.Suspects = append(seqList{h.Alone}, h.Suspects...)
	}
	h.Alone, h.Batch = 0, nil
	return h
}

func without(l seqList, seq int64) seqList {
	return slices.DeleteFunc(slices.Clone(l), func(x int64) bool { return x == seq })
}
