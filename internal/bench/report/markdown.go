package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/bench"
)

// markdown is results.md: targets, then each scenario, then what ran where.
func markdown(r *bench.Results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmark results\n\n")
	fmt.Fprintf(&b, "Made by `make bench` (`internal/bench`) on %s, in %s; written by a program, so change that and not this.\n\n",
		r.Begun.UTC().Format("2006-01-02"), r.Took.Round(time.Second))
	fmt.Fprintf(&b, "All of an engine ran on the same server with the same settings, in turn (A B C, B C A, …), %d rounds, or one "+
		"where a value has no spread. Cells are the ratio to the first contestant that is marked *reference*, round by round, then the median and, in per cent of it, how far the middle half "+
		"of the rounds is apart. ✂: cut off after %v (where a publish takes time %v), the rate is that until then.\n\n", r.Sizes.Rounds, r.Sizes.Limit,
		r.Sizes.SlowLimit)
	targets(&b, r)
	for _, s := range bench.Scenarios() {
		scenario(&b, r, &s)
	}
	contestants(&b, r)
	circumstances(&b, r)
	if len(r.Notes) > 0 {
		fmt.Fprintf(&b, "## What failed\n\n")
		for _, note := range r.Notes {
			fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(note, "\n", " "))
		}
	}
	return b.String()
}

// row writes a line of a table.
func row(b *strings.Builder, cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func head(b *strings.Builder, cells ...string) {
	row(b, cells...)
	fmt.Fprintf(b, "|%s\n", strings.Repeat("---|", len(cells)))
}

func contestants(b *strings.Builder, r *bench.Results) {
	fmt.Fprintf(b, "## Contestants\n\n")
	head(b, "name", "version", "set in its favour", "does not guarantee, beside ours")
	for _, c := range r.Contestants {
		version := c.Version
		if c.Module != "" {
			version = c.Module + " " + version
		}
		row(b, c.Name, version, c.Settings, c.Lacks)
	}
	fmt.Fprintln(b)
}

func circumstances(b *strings.Builder, r *bench.Results) {
	m := r.Machine
	fmt.Fprintf(b, "## Machine, versions, settings\n\n%s %s, kernel %s; %s, %d CPUs; memory %s.\n\n",
		m.OS, m.Arch, m.Kernel, m.CPU, m.CPUs, m.Memory)
	head(b, "engine", "version", "durability and size, the same for all")
	for _, e := range r.Engines {
		row(b, e.Name, e.Version, strings.Join(e.Settings, ", "))
	}
	parts(b, r)
	fmt.Fprintf(b, "\nGo %s. Sizes: batch %d, %s events of %d bytes, %s of %d bytes, %s where a publish takes %v (%d at once), %d keys.\n\n",
		m.Go, r.Sizes.Batch, bench.Thousands(float64(r.Sizes.Drain)), r.Sizes.Payload, bench.Thousands(float64(r.Sizes.DrainLarge)),
		r.Sizes.Large, bench.Thousands(float64(r.Sizes.Slow)), r.Sizes.Work, r.Sizes.Concurrency, r.Sizes.Keys)
}

// parts says when each run was made, and beside what: a long benchmark is made in parts.
func parts(b *strings.Builder, r *bench.Results) {
	if len(r.Parts) == 0 {
		return
	}
	fmt.Fprintln(b)
	head(b, "engine", "scenarios", "day", "load of the machine before")
	type run struct{ engine, day, load string }
	var order []run
	scenarios := make(map[run][]string)
	for _, p := range r.Parts {
		one := run{p.Engine, p.Begun.UTC().Format("2006-01-02"), p.Load}
		if scenarios[one] == nil {
			order = append(order, one)
		}
		scenarios[one] = append(scenarios[one], p.Scenario)
	}
	for _, one := range order {
		row(b, one.engine, strings.Join(scenarios[one], ", "), one.day, one.load)
	}
}
