// Package racing tells tests whether they run under the race detector.
package racing
