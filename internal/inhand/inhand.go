// Package inhand is how a relay's row says what the relay has in hand: package relay writes it, and both relay and outbox
// read it.
package inhand

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Note is what is in hand: {"batch":"1-100,105"} or {"alone":7}. Fields that another release may have added are left
// alone.
type Note struct {
	Batch Seqs  `json:"batch,omitempty"` // handed over together
	Alone int64 `json:"alone,omitempty"` // handed over with nothing else in hand
}

// Encode is the text for the row; nothing in hand is the empty text.
func (n Note) Encode() string {
	if len(n.Batch) == 0 && n.Alone == 0 {
		return ""
	}
	b, err := json.Marshal(n)
	if err != nil {
		panic(fmt.Sprintf("encode what is in hand: %v", err)) // integers only: can't happen
	}
	return string(b)
}

// Decode reads what Encode has written.
func Decode(text string) (n Note, err error) {
	if text == "" {
		return n, nil
	}
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return Note{}, fmt.Errorf("decode what is in hand: %w", err)
	}
	return n, nil
}

// Seqs are the events in hand.
func (n Note) Seqs() []int64 {
	if n.Alone != 0 {
		return []int64{n.Alone}
	}
	return n.Batch
}

// Seqs is ascending seqs, written as ranges ("1-100,105"): a batch is mostly contiguous.
type Seqs []int64

// maxRange is more than any release has in hand together: two batches of 900 at most.
const maxRange = 4 * 900

// MarshalText implements encoding.TextMarshaler.
func (l Seqs) MarshalText() ([]byte, error) {
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
func (l *Seqs) UnmarshalText(text []byte) error {
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
		if from < 0 || to < from || to-from >= maxRange {
			return fmt.Errorf("range %q is out of bounds", part)
		}
		for i := range to - from + 1 { // not up to to itself: it may be the last number there is
			*l = append(*l, from+i)
		}
	}
	return nil
}
