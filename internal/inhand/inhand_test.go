package inhand

import (
	"math"
	"reflect"
	"testing"
)

func TestANoteIsReadBackAsItWasWritten(t *testing.T) {
	for text, n := range map[string]Note{
		``:                                {},
		`{"batch":"1-3,7"}`:               {Batch: Seqs{1, 2, 3, 7}},
		`{"alone":9}`:                     {Alone: 9},
		`{"batch":"9223372036854775807"}`: {Batch: Seqs{math.MaxInt64}},
	} {
		if got := n.Encode(); got != text {
			t.Errorf("%+v is written as %s, want %s", n, got, text)
		}
		got, err := Decode(text)
		if err != nil || !reflect.DeepEqual(got, n) {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
}

func TestWhatIsInHandIsCounted(t *testing.T) {
	for text, want := range map[string]int{
		`{"batch":"1-100,105,107-108"}`:   103,
		`{"alone":9}`:                     1,
		`{"alone":9,"new":{"field":"x"}}`: 1,
	} {
		n, err := Decode(text)
		if err != nil || len(n.Seqs()) != want {
			t.Errorf("%s: %d, %v; want %d", text, len(n.Seqs()), err, want)
		}
	}
}

func TestWhatIsNoNoteIsRefused(t *testing.T) {
	for _, text := range []string{
		`x`, `{"batch":"1-"}`, `{"batch":"9-8"}`, `{"batch":"1,,2"}`, `{"batch":"-5"}`, `{"batch":"1-9223372036854775807"}`,
	} {
		if _, err := Decode(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"batch":"1-100,105","alone":3}`)
	f.Add(`{"batch":"9223372036854775807-1"}`)
	f.Add(`{"batch":"9223372036854775806-9223372036854775807"}`)
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Decode(text)
		if err != nil {
			return
		}
		again, err := Decode(n.Encode())
		if err != nil {
			t.Fatalf("%q is written as %q, which can't be read: %v", text, n.Encode(), err)
		}
		if again.Encode() != n.Encode() {
			t.Errorf("%q, then %q", n.Encode(), again.Encode())
		}
	})
}
