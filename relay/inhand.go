package relay

import (
	"slices"

	"github.com/sqloutbox/sqloutbox/internal/inhand"
)

// inHand is what a relay has taken and not settled. It is written to the relay's own row before the hand-over, once a
// turn; whoever takes over after a crash reads it there and so finds the culprit.
type inHand inhand.Note

// seqList is ascending seqs, written as ranges.
type seqList = inhand.Seqs

// encode is the text for the relay's row.
func (h inHand) encode() string { return inhand.Note(h).Encode() }

func decodeInHand(text string) (inHand, error) {
	n, err := inhand.Decode(text)
	return inHand(n), err
}

// seqs are the events in hand.
func (h inHand) seqs() []int64 { return inhand.Note(h).Seqs() }

// after is what is left once these events have ended.
func (h inHand) after(all []ended) inHand {
	over := make(map[int64]bool, len(all))
	for _, x := range all {
		over[x.e.msg.Seq] = true
	}
	left := inHand{Batch: make(seqList, 0, len(h.Batch))}
	if !over[h.Alone] {
		left.Alone = h.Alone
	}
	for _, seq := range h.Batch {
		if !over[seq] {
			left.Batch = append(left.Batch, seq)
		}
	}
	return left
}

// with adds a batch that was taken besides.
func (h inHand) with(batch []*event, alone bool) inHand {
	if alone && len(batch) == 1 {
		return inHand{Alone: batch[0].msg.Seq}
	}
	h.Batch = slices.Grow(slices.Clone(h.Batch), len(batch))
	for _, e := range batch {
		h.Batch = append(h.Batch, e.msg.Seq)
	}
	slices.Sort(h.Batch)
	return h
}
