package sqltext

import (
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
)

func TestMemoryIsBounded(t *testing.T) {
	r := New(sqlite.New(), "", "p_")
	for n := range 1000 {
		r.Rows("INSERT INTO {events} VALUES {rows}", "(?, ?, ?)", n+1)
		held := 0
		for from, text := range r.texts {
			held += len(from.statement) + len(text)
		}
		if held > maxBytes {
			t.Fatalf("%d bytes are held after %d texts", held, n+1)
		}
	}
}
