package webhook

// missedRange is what a mark says was missed, from one position to another, both taken; n events of it were counted. Where in
// it those are is not known, so that a part has as many as fit into it.
//
// The marks of a subscription share no position with each other, nor with a delivery. A refill keeps to that and loses no
// position: each that was marked is marked again, has been looked at with its delivery made if it is wanted, or is given up.
type missedRange struct{ from, to, n int64 }

func (m missedRange) empty() bool { return m.from > m.to }

// within is the part between two positions, both taken; it may be empty.
func (m missedRange) within(from, to int64) missedRange {
	m.from, m.to = max(m.from, from), min(m.to, to)
	m.n = max(0, min(m.n, m.to-m.from+1))
	return m
}

// without are the parts on both sides of what was made, from one of its positions to another, both taken; each may be empty. Of
// what was counted and not made, the part before has as much as fits.
func (m missedRange) without(from, to, made int64) (before, behind missedRange) {
	m.n = max(0, m.n-made)
	before = m.within(m.from, from-1)
	m.n -= before.n
	return before, m.within(to+1, m.to)
}
