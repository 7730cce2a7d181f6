package registry

import "testing"

func TestNamesOfOneHandler(t *testing.T) {
	var n Names
	for _, row := range [][2]string{{"a", ""}, {"other", ""}, {"b", "a"}, {"c", "b"}, {"x", "y"}, {"y", "x"}, {"z", "gone"}} {
		n.Add(row[0], row[1])
	}
	for name, want := range map[string]string{"a": "a", "b": "a", "c": "a", "other": "other", "x": "", "z": "", "nobody": ""} {
		if got, known := n.First(name); got != want || known != (want != "") {
			t.Errorf("the first name of %q is %q, %v", name, got, known)
		}
	}
	if name, former := n.Newest("a"); name != "c" || former != "b" {
		t.Errorf("newest: %q, before %q", name, former)
	}
	if name, former := n.Newest("other"); name != "other" || former != "" {
		t.Errorf("newest: %q, before %q", name, former)
	}
}
