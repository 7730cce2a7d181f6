//go:build !race

package fleet

// slow lengthens leases under the race detector.
const slow = 1
