package topics

import "testing"

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern string
		takes   []string
		leaves  []string
	}{
		{"orders.placed", []string{"orders.placed"}, []string{"orders", "orders.place", "orders.placed.x", "Orders.placed", ""}},
		{"orders.*", []string{"orders.placed", "orders.a.b", "orders."}, []string{"orders", "orders2.placed", "my.orders.placed"}},
		{"*", []string{"orders", "a.b", ""}, nil},
	} {
		if err := Check(c.pattern); err != nil {
			t.Error(err)
		}
		for _, topic := range c.takes {
			if !Match([]string{"other", c.pattern}, topic) {
				t.Errorf("%q does not take %q", c.pattern, topic)
			}
		}
		for _, topic := range c.leaves {
			if Match([]string{"other", c.pattern}, topic) {
				t.Errorf("%q takes %q", c.pattern, topic)
			}
		}
	}
	for _, bad := range []string{"", ".*", "**", "a*", "a*.b", "*.a", "a.*.*", "\xff", "a\x00"} {
		if Check(bad) == nil {
			t.Errorf("%q is let through", bad)
		}
	}
}
