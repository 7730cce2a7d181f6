package fanout

import "testing"

func TestASettleTakesWhatFits(t *testing.T) {
	const a, b = "a", "b"
	f := &Fanout{known: []subscription{{patterns: []string{"*"}}, {patterns: []string{a}}, {patterns: []string{a}}}}
	for _, c := range []struct {
		topics     []string
		most, want int
	}{
		{nil, 1, 0},
		{[]string{a, a, a}, 9, 3},
		{[]string{a, a, a}, 8, 2},
		{[]string{a, a, a}, 1, 1}, // one always
		{[]string{b, b, b, a}, 3, 3},
		{[]string{b, b, b, a}, 6, 4},
	} {
		if got := f.Fits(c.topics, c.most); got != c.want {
			t.Errorf("of %v %d fit into %d, want %d", c.topics, got, c.most, c.want)
		}
	}
	f = &Fanout{guess: 10}
	for most, want := range map[int]int{40: 4, 25: 2, 5: 1} {
		if got := f.Fits([]string{a, a, a, a}, most); got != want {
			t.Errorf("of 4 for a guess of 10 %d fit into %d, want %d", got, most, want)
		}
	}
}
