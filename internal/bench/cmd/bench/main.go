// Command bench measures the library beside its peers and beside bare SQL.
//
//	bench [-quick] [-out dir] [-scenarios drain,slow] [-contestants oagudo,…] [sizes]
//
// ENGINES=sqlite,postgres narrows it to these engines. The report is written to -out; -report writes it again from the
// results.json that is there, and runs nothing; -add adds to them, so that a long run can be made in parts.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sqloutbox/sqloutbox/internal/bench"
	"github.com/sqloutbox/sqloutbox/internal/bench/report"
	"github.com/sqloutbox/sqloutbox/internal/engines"
)

func main() {
	bench.MaybeChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	var results *bench.Results
	if o.report || o.add {
		if results, err = report.Read(o.out); err != nil {
			return err
		}
	}
	if !o.report {
		o.before = results
		if results, err = measure(ctx, o); err != nil {
			return err
		}
	}
	if results, err = o.merged(results); err != nil {
		return err
	}
	if err := report.Write(o.out, results); err != nil {
		return err
	}
	summary(results)
	fmt.Println("written to", o.out)
	return nil
}

// merged is what was measured, with what was there if that is to be added to.
func (o *options) merged(r *bench.Results) (*bench.Results, error) {
	if o.before == nil {
		return r, nil
	}
	return bench.Merge(o.before, r)
}

func (o *options) write(r *bench.Results) (err error) {
	if r, err = o.merged(r); err != nil {
		return err
	}
	return report.Write(o.out, r)
}

// inEarnest has the servers' and SQLite's files where a commit costs what it does in earnest, and the servers a quarter of the memory
// for their tables: those of all contestants lie beside each other, and InnoDB reads what it does not keep past the system's cache.
func inEarnest() error {
	if mb, known := bench.MemoryMB(); known && os.Getenv(engines.CacheVariable) == "" {
		if err := os.Setenv(engines.CacheVariable, strconv.Itoa(max(mb/4, 512))); err != nil {
			return err
		}
	}
	dir := cmp.Or(os.Getenv(engines.DirVariable), engines.DiskDir())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return errors.Join(os.Setenv(engines.DirVariable, dir), os.Setenv("TMPDIR", dir))
}

func measure(ctx context.Context, o *options) (*bench.Results, error) {
	if err := inEarnest(); err != nil {
		return nil, err
	}
	config := bench.Config{Engines: engines.Names(), Sizes: o.sizes, Log: os.Stderr, Adding: o.before, Done: o.write}
	for _, s := range bench.Scenarios() {
		if len(o.scenarios) == 0 || slices.Contains(o.scenarios, s.Name) || slices.Contains(o.scenarios, "all") {
			config.Scenarios = append(config.Scenarios, s)
		}
	}
	if len(config.Scenarios) == 0 {
		return nil, fmt.Errorf("no scenario is named %q", o.scenarios)
	}
	if len(o.contestants) > 0 {
		config.Only = func(name string) bool { return slices.Contains(o.contestants, name) }
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, err
		}
		defer pprof.StopCPUProfile()
	}
	return bench.Run(ctx, config)
}

// summary prints what the targets have come to, and on what.
func summary(r *bench.Results) {
	m := r.Machine
	fmt.Printf("%s, %d CPUs, %s, %s %s, %s; load before %s\n", m.CPU, m.CPUs, m.Memory, m.OS, m.Kernel, m.Go, m.Load)
	for _, e := range r.Engines {
		fmt.Printf("%s %s: %s\n", e.Name, e.Version, strings.Join(e.Settings, ", "))
	}
	for _, c := range r.Contestants {
		if c.Module != "" {
			fmt.Printf("%s: %s %s; does not guarantee %s\n", c.Name, c.Module, c.Version, c.Lacks)
		}
	}
	for _, v := range bench.Judge(r) {
		mark := "missed"
		if v.Met {
			mark = "met"
		}
		fmt.Printf("%-9s %8.2f  %-6s  %s", v.Engine, v.Measured, mark, v.Target)
		if v.Why != "" {
			fmt.Printf(" (%s)", v.Why)
		}
		fmt.Println()
	}
	for _, note := range r.Notes {
		fmt.Println("FAILED", note)
	}
}
