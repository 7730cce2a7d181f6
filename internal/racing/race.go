//go:build race

package racing

// Slow: on two cores processes stand for seconds, and SQLite's own code, which is Go, is watched too.
const Slow = 4
