package outbox

import (
	"fmt"
	"strconv"
	"strings"
)

// Cursor is a position in the feed: behind the event with this number. The zero Cursor is the very beginning.
type Cursor struct {
	Epoch int64 // names the time since the feed began, or was last restored; see Feed.NewEpoch
	Seq   int64 // number of the last event before the position
}

// String is what ParseCursor reads: "1766000000000-42".
func (c Cursor) String() string { return fmt.Sprintf("%d-%d", c.Epoch, c.Seq) }

// ParseCursor reads what String has written, and nothing else. Errors: ErrCursor.
func ParseCursor(text string) (Cursor, error) {
	epoch, seq, _ := strings.Cut(text, "-")
	var c Cursor
	for _, part := range []struct {
		text string
		to   *int64
	}{{epoch, &c.Epoch}, {seq, &c.Seq}} {
		n, err := strconv.ParseUint(part.text, 10, 63)
		if err != nil {
			return Cursor{}, fmt.Errorf("%w: %.60q", ErrCursor, text)
		}
		*part.to = int64(n)
	}
	if c.String() != text { // zeros in front
		return Cursor{}, fmt.Errorf("%w: %.60q", ErrCursor, text)
	}
	return c, nil
}
