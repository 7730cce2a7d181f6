// Package contest holds what is measured against each other: this library, the bare SQL that no library can beat, and
// what people would take instead. Each is opened on a database of its own, with the same engine, durability and pool.
package contest
