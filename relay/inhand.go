package relay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// inHand is what a relay has taken and not settled. It is written to the relay's own row before the hand-over, once a
// turn; whoever takes over after a crash reads it there and so finds the culprit.
type inHand struct {
	Batch seqList `json:"batch,omitempty"` // handed over together
	Alone int64   `json:"alone,omitempty"` // handed over with nothing else in hand
}

// encode is the text for the relay's row; nothing in hand is the empty text.
func (h inHand) encode() string {
	if len(h.Batch) == 0 && h.Alone == 0 {
		return ""
	}
	b, err := json.Marshal(h)
	if err != nil {
		panic(fmt.Sprintf("encode what is in hand: %v", err)) // integers only: can't happen
	}
	return string(b)
}

func decodeInHand(text string) (h inHand, err error) {
	if text == "" {
		return h, nil
	}
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return inHand{}, fmt.Errorf("decode what is in hand: %w", err)
	}
	return h, nil
}

// seqs are the events in hand.
func (h inHand) seqs() []int64 {
	if h.Alone != 0 {
		return []int64{h.Alone}
	}
	return h.Batch
}

// after is what is left once these events have ended.
func (h inHand) after(all []ended) inHand {
	over := make(map[int64]bool, len(all))
	for _, x := range all {
		over[x.e.msg.Seq] = true
	}
	var left inHand
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
	h.Batch = slices.Clone(h.Batch)
	for _, e := range batch {
		h.Batch = append(h.Batch, e.msg.Seq)
	}
	slices.Sort(h.Batch)
	return h
}

// seqList is ascending seqs, written as ranges ("1-100,105"): a batch is mostly contiguous.
type seqList []int64

// MarshalText implements encoding.TextMarshaler.
func (l seqList) MarshalText() ([]byte, error) {
	var b []byte
	for i := 0; i < len(l); {
		j := i
		for j+1 < len(l) && l[j+1] == l[j]+1 {
			j++
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, l[i], 10)
		if j > i {
			b = append(b, '-')
			b = strconv.AppendInt(b, l[j], 10)
		}
		i = j + 1
	}
	return b, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *seqList) UnmarshalText(text []byte) error {
	*l = nil
	if len(text) == 0 {
		return nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return err
		}
		to := from
		if isRange {
			if to, err = strconv.ParseInt(last, 10, 64); err != nil {
				return err
			}
		}
		if to < from || to-from >= 4*maxBatch {
			return fmt.Errorf("range %q is out of bounds", part)
		}
		for s := from; s <= to; s++ {
			*l = append(*l, s)
		}
	}
	return nil
}
