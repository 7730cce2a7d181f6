//go:build race

package fleet

// slow is how many times longer leases are in tests that count what a lost one costs: with the race detector on, relay
// processes on two cores stand for seconds, SQLite's own code (which is Go) most of all.
const slow = 4
