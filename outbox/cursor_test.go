package outbox_test

import (
	"errors"
	"testing"

	"github.com/sqloutbox/sqloutbox/outbox"
)

func FuzzParseCursor(f *testing.F) {
	for _, text := range []string{"0-0", "1766000000000-42", "1-9223372036854775807", "", "-", "1-", "-1", "1--1", "01-1", "+1-1", "1-1-1", " 1-1", "1-9223372036854775808", "１-1", "1_0-1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := outbox.ParseCursor(text)
		switch {
		case err == nil && (c.String() != text || c.Epoch < 0 || c.Seq < 0):
			t.Errorf("%q is read as %+v, %q", text, c, c)
		case err != nil && (!errors.Is(err, outbox.ErrCursor) || c != outbox.Cursor{}):
			t.Errorf("%q: %v, %+v", text, err, c)
		}
	})
}

func TestCursorsThatAreNone(t *testing.T) {
	for _, text := range []string{"", "-", "1", "1-", "-1", "1--1", "01-1", "1-01", "+1-1", "1-1-1", " 1-1", "1-1 ", "1-9223372036854775808", "1_0-1", "0x1-1"} {
		if c, err := outbox.ParseCursor(text); !errors.Is(err, outbox.ErrCursor) {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
	want := outbox.Cursor{Epoch: 1766000000000, Seq: 1<<63 - 1}
	if c, err := outbox.ParseCursor(want.String()); c != want || err != nil {
		t.Errorf("%v is read as %v, %v", want, c, err)
	}
}
