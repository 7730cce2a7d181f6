package relay

import (
	"reflect"
	"testing"
)

func TestInHandIsReadBackAsItWasNoted(t *testing.T) {
	for text, h := range map[string]inHand{
		``:                                  {},
		`{"batch":"1-3,7"}`:                 {Batch: seqList{1, 2, 3, 7}},
		`{"alone":9}`:                       {Alone: 9},
		`{"suspects":"10-12","prior":true}`: {Suspects: seqList{10, 11, 12}, Prior: true},
		`{"alone":9,"suspects":"10,12","prior":true}`: {Alone: 9, Suspects: seqList{10, 12}, Prior: true},
	} {
		if got := h.encode(); got != text {
			t.Errorf("%+v is noted as %s, want %s", h, got, text)
		}
		got, err := decodeInHand(text)
		if err != nil || !reflect.DeepEqual(got, h) {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
	}
}

// Three crashes of one event among five: it is charged three, the others nothing.
func TestACrashIsChargedToItsCulpritAlone(t *testing.T) {
	charged := 0
	hand := inHand{Batch: seqList{1, 2, 3, 4, 5}}
	crash := func(wantCulprit int64) {
		t.Helper()
		next, culprit, charge := hand.afterCrash()
		if culprit != wantCulprit {
			t.Fatalf("%+v: the culprit is %d, want %d", hand, culprit, wantCulprit)
		}
		charged += charge
		hand = next
	}
	s := &session{r: &Relay{opts: Options{MaxAttempts: 3}}}
	goOn := func(events ...*event) []*event {
		batch := s.choose(hand, events)
		hand = s.noteOf(hand, batch)
		return batch
	}
	ev := func(seq int64) *event { return &event{msg: Message{Seq: seq}} }

	crash(0) // nobody knows yet
	if got := goOn(ev(1), ev(2), ev(3)); len(got) != 1 || hand.Alone != 1 {
		t.Fatalf("a suspect does not go alone: %+v", hand)
	}
	hand = hand.after([]ended{{ev(1), outcome{verdict: published}}})
	goOn(ev(2), ev(3))
	crash(2)
	if charged != 2 {
		t.Fatalf("charged %d after the second crash, want 2: the first is explained by now", charged)
	}
	goOn(ev(2), ev(3))
	crash(2)
	if charged != 3 {
		t.Fatalf("charged %d after the third crash", charged)
	}
	hand.Suspects = without(hand.Suspects, 2) // it is a dead letter
	for _, seq := range []int64{3, 4, 5} {
		if got := goOn(ev(seq), ev(seq+1)); len(got) != 1 || hand.Prior {
			t.Fatalf("%d: %+v", seq, hand)
		}
		hand = hand.after([]ended{{ev(seq), outcome{verdict: published}}})
	}
	if !hand.empty() {
		t.Errorf("suspects are left: %+v", hand)
	}
}

func TestASuspectThatDidNotGetItsTurnStaysOne(t *testing.T) {
	h := inHand{Alone: 4, Suspects: seqList{5}, Prior: true}
	left := h.after([]ended{{&event{msg: Message{Seq: 4}}, outcome{}}})
	if !reflect.DeepEqual(left, inHand{Suspects: seqList{4, 5}, Prior: true}) {
		t.Errorf("%+v", left)
	}
}

func FuzzDecodeInHand(f *testing.F) {
	f.Add(`{"batch":"1-100,105","suspects":"7","alone":3,"prior":true}`)
	f.Add(`{"batch":"9223372036854775807-1"}`)
	f.Fuzz(func(t *testing.T, text string) {
		h, err := decodeInHand(text)
		if err != nil {
			return
		}
		again, err := decodeInHand(h.encode())
		if err != nil {
			t.Fatalf("%q is noted as %q, which can't be read: %v", text, h.encode(), err)
		}
		if again.encode() != h.encode() {
			t.Errorf("%q, then %q", h.encode(), again.encode())
		}
	})
}
