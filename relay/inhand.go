package relay

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// inHand is what a relay is about to hand over. It is written to the relay's own row before the hand-over, once a
// batch; whoever takes over after a crash reads it there and so finds the culprit:
//
// A crash with a batch in hand makes all of it suspects. Suspects are handed over one by one, each noted as alone
// before. A crash with one alone is that event's: it is charged for it, and for the crash that made it a suspect, if
// no other event has explained that one yet. Events that merely shared the batch are charged nothing.
type inHand struct {
	Batch    seqList `json:"batch,omitempty"`    // handed over together
	Alone    int64   `json:"alone,omitempty"`    // handed over by itself
	Suspects seqList `json:"suspects,omitempty"` // still to be handed over one by one
	Prior    bool    `json:"prior,omitempty"`    // the crash that made the suspects is not explained yet
}

func (h inHand) empty() bool { return len(h.Batch) == 0 && h.Alone == 0 && len(h.Suspects) == 0 }

// encode is the text for the relay's row; nothing in hand is the empty text.
func (h inHand) encode() string {
	if h.empty() {
		return ""
	}
	b, err := json.Marshal(h)
	if err != nil {
		panic(fmt.Sprintf("encode what is in hand: %v", err)) // integers and booleans only: can't happen
	}
	return string(b)
}

func decodeInHand(text string) (inHand, error) {
	var h inHand
	if text == "" {
		return h, nil
	}
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return inHand{}, fmt.Errorf("decode what is in hand: %w", err)
	}
	return h, nil
}

// afterCrash is what the next owner starts with, and what the event that was alone is charged.
func (h inHand) afterCrash() (next inHand, culprit int64, charge int) {
	if h.Alone == 0 {
		next.Suspects = append(append(next.Suspects, h.Batch...), h.Suspects...)
		next.Prior = h.Prior || len(h.Batch) > 0
		return next, 0, 0
	}
	charge = 1
	if h.Prior {
		charge = 2
	}
	next.Suspects = append(seqList{h.Alone}, h.Suspects...)
	return next, h.Alone, charge
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
		if to < from || to-from >= 2*maxBatch {
			return fmt.Errorf("range %q is out of bounds", part)
		}
		for s := from; s <= to; s++ {
			*l = append(*l, s)
		}
	}
	return nil
}
