package conformance

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	modelTime       = 4 * time.Second
	leastModelSteps = 40
	leastModelHands = 20 // hand-overs
)

// modelStep is something that happens, and how often beside the others.
type modelStep struct {
	weight int
	name   string
	run    func() (did bool) // false: there was nothing to do it to
}

// modelPace chooses the steps of a model, and says when there were enough. Few steps fit into modelTime where the disk is slow;
// so it goes on until each kind of step has happened, for three times Patience at most: a crash alone is a hundred commits.
type modelPace struct {
	t     *env
	rng   *rand.Rand
	kinds []modelStep
	most  int // steps
	hands func() int

	began time.Time
	steps []string // what was done, for the failure's text
	did   map[string]int
}

// run makes one step after the other, and check after each.
func (p *modelPace) run(check func()) {
	t := p.t
	p.began, p.did = time.Now(), map[string]int{}
	limit := 3 * t.h.Patience
	for !t.Failed() && !p.enough() {
		if time.Since(p.began) > limit {
			t.Errorf("not within %v: %d steps (at least %d), %d hand-overs (at least %d), and some of each kind: %v",
				limit, len(p.steps), leastModelSteps, p.hands(), leastModelHands, p.did)
			return
		}
		next := p.choose()
		p.steps = append(p.steps, next.name)
		if next.run() {
			p.did[next.name]++
		}
		check()
	}
	t.Logf("%d steps, %d hand-overs: %v", len(p.steps), p.hands(), p.did)
}

func (p *modelPace) enough() bool {
	most := len(p.steps) >= p.most || time.Since(p.began) > modelTime
	return most && len(p.steps) >= leastModelSteps && p.hands() >= leastModelHands && len(p.lacking()) == 0
}

// lacking are the kinds of step that have not happened yet.
func (p *modelPace) lacking() []modelStep {
	return slices.DeleteFunc(slices.Clone(p.kinds), func(s modelStep) bool { return p.did[s.name] > 0 })
}

// choose is one of the steps, by weight; every third is of a kind that has not happened yet.
func (p *modelPace) choose() modelStep {
	if lacking := p.lacking(); len(p.steps)%3 == 2 && len(lacking) > 0 {
		return lacking[p.rng.IntN(len(lacking))]
	}
	sum := 0
	for _, s := range p.kinds {
		sum += s.weight
	}
	n := p.rng.IntN(sum)
	for _, s := range p.kinds {
		if n -= s.weight; n < 0 {
			return s
		}
	}
	panic("unreachable")
}

// happens is a step that always does.
func happens(run func()) func() bool {
	return func() bool {
		run()
		return true
	}
}

// last are the names of the last steps, n at most.
func (p *modelPace) last(n int) []string { return p.steps[max(0, len(p.steps)-n):] }
