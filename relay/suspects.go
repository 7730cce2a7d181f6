package relay

import "slices"

// choose cuts a batch so that suspects and rows that can't be read go by themselves.
func (s *session) choose(left inHand, batch []*event) []*event {
	for i, e := range batch {
		if e.broken != nil || s.alone(left, e) {
			return batch[:max(i, 1)]
		}
	}
	return batch
}

// alone: a suspect goes by itself; with one attempt only, the first crash must name its culprit, so every event does.
func (s *session) alone(left inHand, e *event) bool {
	return s.r.opts.MaxAttempts == 1 || slices.Contains(left.Suspects, e.msg.Seq)
}

// handOf is the note for a batch that is about to be handed over. Suspects before the batch are no longer pending,
// since the batch was read from the beginning.
func (s *session) handOf(left inHand, batch []*event) inHand {
	if len(batch) == 0 {
		return left
	}
	h := left
	first := batch[0].msg.Seq
	h.Suspects = slices.DeleteFunc(slices.Clone(h.Suspects), func(seq int64) bool { return seq < first })
	if len(batch) == 1 && s.alone(left, batch[0]) {
		h.Alone, h.Suspects = first, without(h.Suspects, first)
		return h
	}
	h.Prior = h.Prior && len(h.Suspects) > 0
	return h.with(batch)
}

// with adds a batch that is handed over together.
func (h inHand) with(batch []*event) inHand {
	for _, e := range batch {
		h.Batch = append(h.Batch, e.msg.Seq)
	}
	return h
}

// after is what is left of h once these events have ended: an event with an outcome did not end the process.
func (h inHand) after(all []ended) inHand {
	settled := make(map[int64]bool, len(all))
	for _, x := range all {
		if x.o.verdict != untouched {
			settled[x.e.msg.Seq] = true
		}
	}
	left := inHand{Prior: h.Prior}
	if h.Alone != 0 && !settled[h.Alone] {
		left.Suspects = append(left.Suspects, h.Alone) // it did not get its turn
	}
	for _, seq := range h.Suspects {
		if !settled[seq] {
			left.Suspects = append(left.Suspects, seq)
		}
	}
	left.Prior = left.Prior && len(left.Suspects) > 0
	return left
}

func without(l seqList, seq int64) seqList {
	return slices.DeleteFunc(slices.Clone(l), func(x int64) bool { return x == seq })
}
