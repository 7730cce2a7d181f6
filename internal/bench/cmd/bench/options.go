package main

import (
	"errors"
	"flag"
	"strconv"
	"strings"

	"github.com/sqloutbox/sqloutbox/internal/bench"
)

type options struct {
	out, profile           string
	report, add            bool
	before                 *bench.Results // that are added to
	scenarios, contestants []string
	sizes                  bench.Sizes
}

// parse takes the sizes of a full or a quick run, and changes those that have a flag of their own.
func parse(args []string) (*options, error) {
	o := &options{sizes: bench.Full()}
	for _, a := range args {
		if a == "-quick" || a == "--quick" {
			o.sizes, o.scenarios = bench.Quick(), bench.QuickScenarios
		}
	}
	s := &o.sizes
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.Bool("quick", false, "sizes for a look in a few minutes")
	f.BoolVar(&o.report, "report", false, "write the report again from results.json")
	f.BoolVar(&o.add, "add", false, "add to results.json; scenarios that are run again are replaced, engine by engine")
	f.StringVar(&o.out, "out", "docs/bench", "directory of the report")
	f.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the whole run to this file")
	f.Func("scenarios", "run these alone, separated by commas; or all", names(&o.scenarios))
	f.Func("contestants", "run these alone, separated by commas", names(&o.contestants))
	f.IntVar(&s.Rounds, "rounds", s.Rounds, "rounds of each scenario")
	f.IntVar(&s.Batch, "batch", s.Batch, "batch of everybody who has batches")
	f.IntVar(&s.Concurrency, "concurrency", s.Concurrency, "our hand-overs at once where a publish takes time")
	f.DurationVar(&s.Limit, "limit", s.Limit, "a round is cut off after this time")
	f.DurationVar(&s.SlowLimit, "slow-limit", s.SlowLimit, "the same where a publish takes time")
	f.DurationVar(&s.Work, "work", s.Work, "what a publish takes where it takes time")
	f.IntVar(&s.Drain, "drain", s.Drain, "events to drain")
	f.IntVar(&s.DrainLarge, "drain-large", s.DrainLarge, "large events to drain")
	f.IntVar(&s.Slow, "slow", s.Slow, "events to drain where a publish takes time")
	f.IntVar(&s.Keys, "keys", s.Keys, "keys of the events")
	f.IntVar(&s.Payload, "payload", s.Payload, "bytes of an event")
	f.IntVar(&s.Writes, "writes", s.Writes, "transactions of a round")
	f.IntVar(&s.Inserts, "inserts", s.Inserts, "calls of Write in a transaction")
	f.DurationVar(&s.RateFor, "latency-for", s.RateFor, "how long latency is measured in a round")
	f.DurationVar(&s.Idle, "idle", s.Idle, "how long idle statements are counted")
	f.IntVar(&s.Snapshot, "snapshot", s.Snapshot, "events that go through while a snapshot is open")
	f.IntVar(&s.Memory, "memory", s.Memory, "large events beside which memory is measured")
	f.Func("backlog", "sizes of the backlog, ascending", numbers(&s.Backlog))
	f.Func("kept", "numbers of kept rows, ascending", numbers(&s.Kept))
	f.Func("scheduled", "numbers of scheduled rows, ascending", numbers(&s.Scheduled))
	f.Func("processes", "numbers of relay processes, ascending", numbers(&s.Processes))
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if o.add && len(o.contestants) > 0 {
		return nil, errors.New("-add replaces a scenario with all who take part: leave out -contestants")
	}
	return o, nil
}

func names(to *[]string) func(string) error {
	return func(text string) error {
		*to = strings.Split(text, ",")
		return nil
	}
}

func numbers(to *[]int) func(string) error {
	return func(text string) error {
		*to = nil
		for _, one := range strings.Split(text, ",") {
			n, err := strconv.Atoi(one)
			if err != nil {
				return err
			}
			*to = append(*to, n)
		}
		return nil
	}
}
