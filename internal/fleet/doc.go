// Package fleet tests relays as an operator runs them: several real processes on one real database, some of which are
// killed, paused, stopped, or cut off from it.
//
// The test binary runs itself again as a relay process (see process_test.go). Each hands its events over a loopback
// connection to a receiver in the test's own process, so what was received is known whatever is killed.
package fleet
