package outbox

import "testing"

// Writers in other languages rely on these.
func TestPartitionVectors(t *testing.T) {
	for key, want := range map[string]int{"": 0, "a": 3, "123456789": 38, "order-42": 30} {
		if got := Partition(key); got != want {
			t.Errorf("Partition(%q) = %d, want %d", key, got, want)
		}
	}
}
