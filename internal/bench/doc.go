// Package bench measures this library side by side with what people would take instead, and with the bare SQL that no
// library can beat: the same engines, durability, pools and events, in one run on one machine, in turn (A B C A B C …).
//
// A scenario is a file: what is measured, of whom. run.go takes the turns, targets.go says what should come out, and
// package report writes it down. Every measurement also checks that what was written was delivered.
package bench
