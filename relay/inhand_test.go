package relay

import "testing"

func TestWhatIsInHandFollowsTheTurns(t *testing.T) {
	ev := func(seq int64) *event { return &event{msg: Message{Seq: seq}} }
	h := inHand{}.with([]*event{ev(1), ev(2), ev(3)}, false)
	h = h.after([]ended{{ev(1), outcome{verdict: published}}, {ev(3), outcome{}}}).with([]*event{ev(4)}, false)
	if got := h.encode(); got != `{"batch":"2,4"}` {
		t.Errorf("in hand: %s", got)
	}
	h = h.after([]ended{{ev(2), outcome{verdict: failed}}, {ev(4), outcome{verdict: dead}}})
	if got := h.encode(); got != "" {
		t.Errorf("in hand after all has ended: %s", got)
	}
	h = h.with([]*event{ev(5)}, true)
	if got := h.encode(); got != `{"alone":5}` {
		t.Errorf("in hand: %s", got)
	}
}

func TestWhatMustGoAloneDoesSoWithNothingElseInHand(t *testing.T) {
	r := &Relay{}
	plain, suspect := &event{}, &event{by: markSuspect + "crash"}
	for name, c := range map[string]struct {
		batch []*event
		empty bool
		want  int
		alone bool
	}{
		"nothing special":       {[]*event{plain, plain}, true, 2, false},
		"a suspect at the head": {[]*event{suspect, plain}, true, 1, true},
		"not while others are":  {[]*event{suspect, plain}, false, 0, true},
		"a suspect behind":      {[]*event{plain, suspect, plain}, true, 1, true},
	} {
		got, alone := r.choose(c.batch, c.empty)
		if len(got) != c.want || alone != c.alone {
			t.Errorf("%s: %d events, alone %v", name, len(got), alone)
		}
	}
	one := &Relay{single: true}
	if got, alone := one.choose([]*event{plain, plain}, true); len(got) != 1 || !alone {
		t.Errorf("with one attempt: %d events, alone %v", len(got), alone)
	}
}
