package plans

import (
	"fmt"
	"slices"
	"strings"
)

// The indexes of the events, without their prefix.
const (
	Pending = "events_pending" // (state, seq, partition_no)
	Due     = "events_due"     // (state, due_ms, seq)
	Key     = "events_pkey"    // the primary key, whatever an engine calls it
)

// Fault is what is wrong with a plan that is to look the events up in these indexes and read nothing else of them, in
// order and without a sort; or "".
func (f *Table) Fault(plan string, indexes ...string) string {
	var events []string // the steps that read them
	for line := range strings.Lines(plan) {
		line = strings.TrimSpace(line)
		for _, bad := range []string{"Sort  (", "TEMP B-TREE", "filesort"} { // PostgreSQL's merge of what is sorted has a Sort Key
			if strings.Contains(line, bad) {
				return "the plan says " + bad
			}
		}
		if strings.Contains(line, "Select tables optimized away") { // the end of an index, by the optimizer itself
			return ""
		}
		if strings.Contains(line, reads[f.engine]) {
			events = append(events, line)
		}
	}
	if len(events) == 0 {
		return "the plan does not read the events"
	}
	for _, line := range events {
		if !slices.ContainsFunc(indexes, func(index string) bool { return f.goesBy(line, f.SQL.Table(index)) }) {
			return fmt.Sprintf("not by %q: %s", indexes, line)
		}
	}
	for _, index := range indexes {
		if !slices.ContainsFunc(events, func(line string) bool { return f.goesBy(line, f.SQL.Table(index)) }) {
			return "nothing is read by " + index
		}
	}
	steps := len(events)
	events = slices.DeleteFunc(events, func(line string) bool { return f.goesBy(line, f.SQL.Table(Key)) })
	if f.engine == "postgres" && strings.Count(plan, "Index Cond: (seq = ANY (") < steps-len(events) {
		return "the primary key is walked"
	}
	if f.engine == "postgres" && strings.Count(plan, "Index Cond: (state ")+strings.Count(plan, "Index Cond: ((state ") < len(events) {
		return "an index is read without its state" // a step's condition stands in the line below it
	}
	return ""
}

// FaultOfLook is the same for a statement that must stop at its limit, or at the first that it finds, where it does not go
// by keys. In PostgreSQL, MIN over an index reads one entry or, if one row is all that statistics expect, as many as there are.
func (f *Table) FaultOfLook(plan string, indexes ...string) string {
	if fault := f.Fault(plan, indexes...); fault != "" || f.engine != "postgres" {
		return fault
	}
	var above []string // the steps that a line is part of, by their depth
	var depths []int
	for line := range strings.Lines(plan) {
		depth := strings.Index(line, "->")
		if depth < 0 && len(above) > 0 {
			continue // says more of the step above it
		}
		for len(depths) > 0 && depths[len(depths)-1] >= depth {
			above, depths = above[:len(above)-1], depths[:len(depths)-1]
		}
		stops := f.goesBy(line, f.SQL.Table(Key)) || slices.ContainsFunc(above, func(s string) bool { return strings.Contains(s, "Limit ") })
		if strings.Contains(line, reads[f.engine]) && !stops {
			return "is read to its end: " + strings.TrimSpace(line)
		}
		above, depths = append(above, line), append(depths, depth)
	}
	return ""
}

// reads is how a step says that it reads the events.
var reads = map[string]string{
	"postgres": " on outbox_events",
	"sqlite":   " outbox_events ",
	"mysql":    "table=outbox_events;",
	"mariadb":  "table=outbox_events;",
}

// goesBy: a step looks up an index. In SQLite and PostgreSQL it must not be the whole of it.
func (f *Table) goesBy(line, index string) bool {
	key := index == f.SQL.Table(Key)
	switch f.engine {
	case "postgres":
		return strings.Contains(line, "Scan using "+index+" on") || strings.Contains(line, "Scan Backward using "+index+" on")
	case "sqlite":
		return key && strings.Contains(line, "SEARCH outbox_events USING INTEGER PRIMARY KEY (rowid=?)") ||
			key && strings.Contains(line, "SEARCH outbox_events USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)") ||
			strings.Contains(line, "SEARCH outbox_events USING INDEX "+index+" (state") ||
			strings.Contains(line, "SEARCH outbox_events USING COVERING INDEX "+index+" (state")
	default:
		if key {
			index = "PRIMARY"
		}
		return strings.Contains(line, "key="+index+";") && (strings.Contains(line, "type=ref;") || strings.Contains(line, "type=range;"))
	}
}
