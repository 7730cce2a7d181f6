package webhook

import "testing"

func TestAPartOfWhatWasMissed(t *testing.T) {
	m := missedRange{from: 10, to: 19, n: 4}
	for _, x := range []struct {
		name     string
		from, to int64
		want     missedRange
		empty    bool
	}{
		{"all", 1, noEnd, m, false},
		{"the same", 10, 19, m, false},
		{"its beginning", 1, 12, missedRange{10, 12, 3}, false},
		{"its middle", 12, 17, missedRange{12, 17, 4}, false},
		{"its end", 18, 30, missedRange{18, 19, 2}, false},
		{"one", 19, 19, missedRange{19, 19, 1}, false},
		{"before it", 1, 9, missedRange{10, 9, 0}, true},
		{"far before it", 1, 2, missedRange{10, 2, 0}, true},
		{"behind it", 20, 30, missedRange{20, 19, 0}, true},
		{"nothing", 15, 14, missedRange{15, 14, 0}, true},
	} {
		if got := m.within(x.from, x.to); got != x.want || got.empty() != x.empty {
			t.Errorf("%s: %+v, empty %v, want %+v, %v", x.name, got, got.empty(), x.want, x.empty)
		}
	}
}

func TestWhatIsLeftOfWhatWasMissed(t *testing.T) {
	m := missedRange{from: 10, to: 19, n: 4}
	none := missedRange{}
	for _, x := range []struct {
		name           string
		from, to, made int64
		before, behind missedRange
	}{
		{"all was made", 10, 19, 4, none, none},
		{"all was looked at, and not wanted by now", 10, 19, 1, none, none},
		{"more was made than was counted", 10, 12, 9, none, missedRange{13, 19, 0}},
		{"its beginning", 10, 12, 1, none, missedRange{13, 19, 3}},
		{"its end", 18, 19, 1, missedRange{10, 17, 3}, none},
		{"its middle", 11, 12, 1, missedRange{10, 10, 1}, missedRange{13, 19, 2}},
		{"nothing of it was wanted", 12, 17, 0, missedRange{10, 11, 2}, missedRange{18, 19, 2}},
		{"one", 15, 15, 1, missedRange{10, 14, 3}, missedRange{16, 19, 0}},
	} {
		before, behind := m.without(x.from, x.to, x.made)
		for _, part := range []*missedRange{&before, &behind} {
			if part.empty() {
				*part = none
			}
		}
		if before != x.before || behind != x.behind {
			t.Errorf("%s: %+v and %+v, want %+v and %+v", x.name, before, behind, x.before, x.behind)
		}
	}
}
