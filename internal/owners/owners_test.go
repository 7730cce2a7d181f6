package owners

import (
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/golden"
)

func TestStatementsAreHeldInGoldenFiles(t *testing.T) {
	golden.Check(t, map[string]string{"InsertLease": InsertLease, "lockOrder": lockOrder})
}

func TestANameOfAPartitionIsReadBack(t *testing.T) {
	for p, name := range map[int64]string{0: "key/00", 7: "key/07", 63: "key/63"} {
		if got := PartitionName(p); got != name {
			t.Errorf("partition %d is called %q, want %q", p, got, name)
		}
		if got, err := PartitionOf(name); got != p || err != nil {
			t.Errorf("%q is partition %d, %v; want %d", name, got, err, p)
		}
	}
	if _, err := PartitionOf("key/x"); err == nil {
		t.Error("key/x is a partition")
	}
}
