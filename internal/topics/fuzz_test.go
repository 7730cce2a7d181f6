package topics

import (
	"strings"
	"testing"
)

// What Check lets through is an exact name, a prefix or all, and survives its row.
func FuzzPatterns(f *testing.F) {
	for _, seed := range [][2]string{{"*", "orders"}, {"orders.*", "orders.placed"}, {"orders", "orders"}, {"a.*.*", "a.b"}, {"", ""}, {".*", "."}, {"a*", "ab"}, {"\xff", "\xff"}, {"a\x00", "a"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, topic string) {
		if Check(pattern) != nil {
			return
		}
		text, err := Encode(Of([]string{pattern}))
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(text)
		if err != nil || len(back) != 1 || back[0].Topic != pattern {
			t.Fatalf("%q comes back as %v, %v", pattern, back, err)
		}
		prefix, isPrefix := strings.CutSuffix(pattern, ".*")
		want := pattern == "*" || isPrefix && strings.HasPrefix(topic, prefix+".") || pattern == topic
		if got := Match([]string{pattern}, topic); got != want {
			t.Errorf("%q takes %q: %v, want %v", pattern, topic, got, want)
		}
	})
}
