package sqltext

import (
	"math/bits"
	"slices"
	"strings"
)

// MaxList keeps a statement under 900 parameters, the least that any engine takes.
const MaxList = 900

const (
	byList  = "WHERE seq IN ({list})"
	byRange = "WHERE seq >= ? AND seq <= ?"

	aside      = "{aside}"
	asideList  = " AND seq NOT IN ({beside})"
	asideRange = " AND NOT (seq >= ? AND seq <= ?)"
)

// maxRanges is how many ranges are left out before a list is shorter.
const maxRanges = 16

// ListOf is List for these numbers, with the statement's arguments: those before the list, the list as FilledUp makes it, and
// those after it. Where the dialect can do that, seqs that follow each other without a gap are named as a range: there is
// no row in it but these.
func (r *Renderer) ListOf(statement string, numbers []int64, before, after []any) (text string, args []any) {
	if r.ranges && len(numbers) > 1 && strings.Contains(statement, byList) {
		if ranges := RangesOf(numbers); len(ranges) == 2 {
			return r.SQL(strings.Replace(statement, byList, byRange, 1)), slices.Concat(before, ranges, after)
		}
	}
	list := FilledUp(numbers)
	return r.List(statement, len(list)), slices.Concat(before, list, after)
}

// Aside is List for a statement that leaves these seqs out wherever {aside} stands, with the arguments for one such place: ranges where
// they are few, which is quicker for an engine to compare with, and shorter.
func (r *Renderer) Aside(statement string, list int, seqs []int64) (text string, args []any) {
	ranges := RangesOf(seqs)
	n := powerOfTwo(len(ranges) / 2)
	if n > maxRanges {
		args = FilledUp(seqs)
		return r.Lists(strings.ReplaceAll(statement, aside, asideList), list, len(args)), args
	}
	for last := len(ranges) - 2; len(ranges) < 2*n; {
		ranges = append(ranges, ranges[last], ranges[last+1])
	}
	statement = strings.ReplaceAll(statement, aside, strings.Repeat(asideRange, n))
	if list == 0 {
		return r.SQL(statement), ranges
	}
	return r.List(statement, list), ranges
}

// RangesOf are the first and the last number of each range of numbers that follow each other, in ascending order.
func RangesOf(numbers []int64) (ends []any) {
	sorted := numbers
	if !slices.IsSorted(sorted) {
		sorted = slices.Sorted(slices.Values(numbers))
	}
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && uint64(sorted[j+1]-sorted[j]) <= 1 { // of an int64 and a lower one that is the distance, whatever the signs
			j++
		}
		ends = append(ends, sorted[i], sorted[j])
		i = j + 1
	}
	return ends
}

// FilledUp are numbers as arguments, in ascending order, the order in which all of this module locks rows. They are filled up
// to a power of two with the last of them, so that an engine sees few different texts and can keep their plans.
func FilledUp(numbers []int64) []any {
	numbers = slices.Sorted(slices.Values(numbers))
	n := min(powerOfTwo(len(numbers)), max(MaxList, len(numbers)))
	args := make([]any, n)
	for i := range args {
		args[i] = numbers[min(i, len(numbers)-1)]
	}
	return args
}

// powerOfTwo is the lowest one that is n or more; 0 for 0.
func powerOfTwo(n int) int {
	if n == 0 {
		return 0
	}
	return 1 << bits.Len(uint(n-1))
}
