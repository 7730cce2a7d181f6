package topics

import "testing"

func TestPatternsWithBeginnings(t *testing.T) {
	s := append(Of([]string{"a", "b.*"}), Pattern{Topic: "c", From: -1})
	for pattern, want := range map[string]bool{"c": true, "b.c": false} {
		if has, retired := s.Has(pattern); has != want || retired {
			t.Errorf("%v has %q: %v, retired %v", s, pattern, has, retired)
		}
	}
	if !s.Undecided() {
		t.Errorf("%v", s)
	}
	s.Decide(7)
	text, err := Encode(s)
	if err != nil || string(text) != `["a","b.*",{"topic":"c","from":7}]` {
		t.Errorf("%s, %v", text, err)
	}
	if s, err = Decode(text); err != nil || s.Undecided() {
		t.Fatal(s, err)
	}
	if !s.Match("a", 1) || !s.Match("b.x", 1) || s.Match("c", 6) || !s.Match("c", 7) {
		t.Errorf("%v begins elsewhere", s)
	}
	for _, bad := range []string{"", "{}", "[7]", `[["a"]]`} {
		if s, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, s)
		}
	}
}

func TestPatternsThatAreRetired(t *testing.T) {
	s := append(Of([]string{"a", "b.*"}), Pattern{Topic: "c", From: 7})
	if unknown, ok := s.Retire([]string{"c", "d"}); ok || unknown != "d" {
		t.Errorf("%q, %v: want d, which is none of them", unknown, ok)
	}
	if _, ok := s.Retire([]string{"c", "b.*"}); !ok { // also once more
		t.Error("it is one of them")
	}
	text, err := Encode(s)
	if err != nil || string(text) != `["a",{"topic":"b.*","from":0,"retired":true},{"topic":"c","from":0,"retired":true}]` {
		t.Errorf("%s, %v", text, err)
	}
	if s, err = Decode(text); err != nil || s.Match("c", 9) || s.Match("b.x", 9) || !s.Match("a", 9) || len(s.Names()) != 1 {
		t.Errorf("%v, %v", s, err)
	}
	if has, retired := s.Has("c"); !has || !retired {
		t.Errorf("%v, %v", has, retired)
	}
}
