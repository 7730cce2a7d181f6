//go:build !race

package racing

// Slow is how many times longer leases must be in tests that count what a lost one costs.
const Slow = 1
