package conformance

import (
	"slices"
	"testing"

	"github.com/sqloutbox/sqloutbox/relay"
)

// Case is one rule. Its name says the rule, and is unique.
type Case struct {
	Area, Name string
	run        func(t *env)
}

// Run puts a dialect through this case alone, in a database of its own.
func (c Case) Run(t testing.TB, h Harness) {
	t.Helper()
	newSpace(t, h).run(t, c)
}

// Cases are all that Run runs, in its order.
func Cases() []Case {
	return slices.Concat(
		// The dialect.
		area("clock", clockRules()),
		area("locks", lockRules()),
		area("errors", errorRules()),
		// Writing.
		area("write", writeRules()),
		area("input", inputRules()),
		area("ids", idRules()),
		area("duplicates", duplicateRules()),
		area("atomicity", atomicityRules()),
		area("ghosts", ghostRules()),
		area("bytes", byteRules()),
		area("plain SQL", plainRules()),
		// Handing on.
		area("order", orderRules()),
		area("late commits", lateRules()),
		area("delay", delayRules()),
		area("lease", leaseRules()),
		area("claims", claimRules()),
		area("crash", crashRules()),
		area("attempts", attemptRules()),
		area("broken rows", brokenRules()),
		area("publisher", publisherRules()),
		area("stuck", stuckRules()),
		area("shutdown", shutdownRules()),
		// Operating.
		area("dead letters", deadLetterRules()),
		area("hold", holdRules()),
		area("retention", retentionRules()),
		area("stats", statsRules()),
		// All together.
		area("connections", connectionRules()),
		area("end to end", endToEndRules()),
		area("model", modelRules()),
	)
}

type rule struct {
	name string
	run  func(t *env)
}

func area(name string, rules []rule) []Case {
	cases := make([]Case, len(rules))
	for i, r := range rules {
		cases[i] = Case{Area: name, Name: r.name, run: r.run}
	}
	return cases
}

// inBoth is a rule that holds in OrderTotal and in OrderNone alike.
func inBoth(name string, run func(t *env, order relay.Order)) []rule {
	return []rule{
		{name + ", total", func(t *env) { run(t, relay.OrderTotal) }},
		{name + ", none", func(t *env) { run(t, relay.OrderNone) }},
	}
}
