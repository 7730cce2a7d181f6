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
		area("restore", restoreRules()),
		area("atomicity", atomicityRules()),
		area("ghosts", ghostRules()),
		area("bytes", byteRules()),
		area("plain SQL", plainRules()),
		// Handing on.
		area("order", orderRules()),
		area("keys", keyRules()),
		area("held keys", keyHoldRules()),
		area("partitions", partitionRules()),
		area("orders", orderChangeRules()),
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
		area("feed", feedRules()),
		area("webhooks", webhookRules()),
		area("stats", statsRules()),
		area("handlers", handlerRules()),
		area("inbox", inboxRules()),
		// All together.
		area("columns", columnRules()),
		area("connections", connectionRules()),
		area("collisions", collisionRules()),
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

// inEach is a rule that holds in every order.
func inEach(name string, run func(t *env, order relay.Order)) []rule {
	return []rule{
		{name + ", total", func(t *env) { run(t, relay.OrderTotal) }},
		{name + ", per key", func(t *env) { run(t, relay.OrderPerKey) }},
		{name + ", none", func(t *env) { run(t, relay.OrderNone) }},
	}
}
