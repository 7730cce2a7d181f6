package outbox

import (
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/plans"
)

// planned is a statement that reads events and the index that it is to be read by. One that counts reads all of a state;
// the others stop at a limit. The clock and the leases are left out: they read none of the events. So are pages of dead
// letters and of what is paused: see DESIGN.md, section 6.
var planned = []struct {
	name, text string
	args       []any
	index      string
	counts     bool
}{
	{"countPending", countPending, nil, plans.Pending, true},
	{"countDue", countDue, []any{time.Now().UnixMilli()}, plans.Due, true},
	{"countOverdue", countOverdue, []any{time.Now().UnixMilli()}, plans.Due, true},
	{"countScheduled", countScheduled, []any{time.Now().UnixMilli()}, plans.Due, true},
	{"countDead", countDead, nil, plans.Pending, true},
	{"countPublished", countPublished, nil, plans.Pending, true},
	{"countHeld", countHeld, nil, plans.Pending, true},
	{"countWaiting", countWaiting, nil, plans.Pending, true},
	{"countRetrying", countRetrying, []any{time.Now().UnixMilli()}, plans.Due, true},
	{"countPaused", countPaused, nil, plans.Pending, true},
	{"firstDue", firstDue, []any{time.Now().UnixMilli()}, plans.Due, false},
	{"firstOverdue", firstOverdue, []any{time.Now().UnixMilli()}, plans.Due, false},
	{"oldestPending", oldestPending, nil, plans.Pending, false},
	{"oldestHeld", oldestHeld, nil, plans.Pending, false},
	{"oldestWaiting", oldestWaiting, nil, plans.Pending, false},
	{"longestDue", longestDue, nil, plans.Due, false},
	{"oldPublished", oldPublished, []any{time.Now().UnixMilli(), int64(100)}, plans.Due, false},
	{"oldDead", oldDead, []any{time.Now().UnixMilli(), int64(100)}, plans.Due, false},
	{"publishedPage", publishedPage, []any{int64(0), int64(100)}, plans.Pending, false},
}

func TestEachStatementIsReadFromItsIndex(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o, table := filled(t, e, plans.Rows(t))
		table.Each(t, func(t *testing.T) { wantIndexes(t, o, table) })
		t.Run("and is found out if it is not", func(t *testing.T) { wantFaults(t, o, table) })
	})
}

func wantIndexes(t *testing.T, o *Outbox, table *plans.Table) {
	for _, p := range planned {
		if plan, fault := faultOf(t, o, table, p.text, p.args, p.index, p.counts); fault != "" {
			t.Errorf("%s: %s\n%s", p.name, fault, plan)
		}
	}
}

// wantFaults takes the indexes away, and the hints that insist on them: now every plan must be found at fault.
func wantFaults(t *testing.T, o *Outbox, table *plans.Table) {
	table.DropIndexes()
	unhinted := strings.NewReplacer("{use_pending}", "", "{use_due}", "")
	for _, p := range planned {
		if plan, fault := faultOf(t, o, table, unhinted.Replace(p.text), p.args, p.index, p.counts); fault == "" {
			t.Errorf("%s: nothing is wrong with a plan without the indexes\n%s", p.name, plan)
		}
	}
}

// faultOf is the plan of a statement that is sent as the outbox sends it, and what is wrong with it.
func faultOf(t *testing.T, o *Outbox, table *plans.Table, text string, args []any, index string, counts bool) (plan, fault string) {
	t.Helper()
	q, end, err := o.reading(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	plan, err = table.Explain(t.Context(), q, o.sql.SQL(text), args)
	if err != nil {
		t.Fatal(err)
	}
	if !counts {
		return plan, table.FaultOfLook(plan, index)
	}
	fault = table.Fault(plan, index)
	if fault != "" && index == plans.Pending && o.dialect.Name() == "postgres" {
		// Both indexes begin with the state, and PostgreSQL may count by either.
		fault = table.Fault(plan, plans.Due)
	}
	return plan, fault
}
