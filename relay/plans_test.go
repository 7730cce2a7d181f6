package relay

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/plans"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// planned is a statement that reads events other than by their primary key, with its lists, and the indexes that it is to
// be read by.
type planned struct {
	name, text   string
	list, beside int
	before       int // args before those of aside, beside a list
	aside        []int64
	args         []any
	bare         bool // sent outside of a transaction
	filters      bool // sent where the dialect has dialect.RowFilter
	keyed        bool // sent where it has not
	indexes      []string
}

// mountain is a partition of which statistics know nothing; see TestEachStatementIsReadFromItsIndex.
const mountain = int64(63)

func plannedStatements(rows int64, by way) []planned {
	now, pending, due := time.Now().UnixMilli(), []string{plans.Pending}, []string{plans.Due}
	late := rows / 20 * 19
	inHand, scattered := []int64{late + 1, late + 2, late + 10}, make([]int64, 100)
	for i := range scattered {
		scattered[i] = late + 1 + 2*int64(i)
	}
	keys := []any{"customer-1", "customer-2"}
	partitions := []any{int64(-1), mountain}
	all := partitions // as the lowest and the highest
	gaps := []any{late - 21, late - 11, late - 1, late - 1}
	limit := int64(100)
	return []planned{
		{name: "lookPending", text: lookPending, args: []any{limit}, indexes: pending},
		{name: "lookPending beside ranges", text: lookPending, aside: inHand, args: []any{limit}, indexes: pending},
		{name: "lookPending beside a list", text: lookPending, aside: scattered, args: []any{limit}, indexes: pending},
		// Nothing is pending below the first: MySQL finds that out while it plans.
		{name: "lookBehind", text: tailText(lookBehind, by, false), args: []any{late, int64(1), limit}, indexes: pending},
		{name: "lookBehind with something below", text: tailText(lookBehind, by, false), args: []any{late, late - 100, limit}, indexes: pending},
		{
			name: "lookBehind in partitions", text: tailText(lookBehind, by, true), indexes: pending,
			args: slices.Concat([]any{late}, all, []any{int64(1)}, all, []any{limit}),
		},
		{
			name: "lookBehindAndBetween", text: tailText(lookBehindAndBetween, by, false), list: 4, indexes: []string{plans.Pending, plans.Key},
			args: slices.Concat(gaps, []any{late, limit, int64(1)}),
		},
		{
			name: "lookBehindAndBetween in partitions", text: tailText(lookBehindAndBetween, by, true), list: 4, indexes: []string{plans.Pending, plans.Key},
			args: slices.Concat(gaps, all, []any{late}, all, []any{limit, int64(1)}, all),
		},
		{
			name: "lookBehind by key", text: tailText(lookBehind, byKey, true), indexes: []string{plans.Key, plans.Pending}, keyed: true,
			args: slices.Concat([]any{late, late + 2*limit}, all, []any{int64(1)}, all, []any{limit}),
		},
		{
			name: "lookBehindAndBetween by key", text: tailText(lookBehindAndBetween, byKey, true), list: 4, indexes: []string{plans.Key, plans.Pending}, keyed: true,
			args: slices.Concat(gaps, all, []any{late, late + 2*limit}, all, []any{limit, int64(1)}, all),
		},
		{name: "lookBelow", text: tailText(lookBelow, by, true), args: slices.Concat([]any{int64(1)}, all), indexes: pending},
		{name: "lookKeys", text: lookKeys, list: 2, args: slices.Concat(partitions, []any{limit}), indexes: pending},
		{name: "lookKeysFromTo", text: lookKeysFromTo, before: 2, aside: inHand, args: []any{int64(-1), mountain, limit}, indexes: pending},
		{
			name: "lookKeysIn", text: lookKeysIn(2), args: []any{int64(-1), int64(-1), limit, mountain, mountain, limit, limit}, filters: true,
			indexes: pending,
		},
		{name: "lookKeys beside ranges", text: lookKeys, list: 2, aside: inHand, args: slices.Concat(partitions, []any{limit}), indexes: pending},
		{name: "lookKeys beside a list", text: lookKeys, list: 2, aside: scattered, args: slices.Concat(partitions, []any{limit}), indexes: pending},
		{name: "lookPast", text: lookPast, list: 2, beside: 2, args: slices.Concat(partitions, []any{late}, keys, []any{limit}), indexes: pending},
		{name: "lookAtKeys", text: lookAtKeys, list: 2, args: slices.Concat([]any{int64(0)}, partitions, []any{limit}), indexes: pending},
		{name: "unplaced", text: unplaced, args: []any{limit}, indexes: pending},
		{name: "misfits", text: misfits, args: []any{limit}, indexes: pending},
		{name: "firstPending", text: firstPending, bare: true, indexes: pending},
		{name: "oldestDead", text: oldestDead, indexes: pending},
		{name: "deadPage", text: deadPage, args: []any{int64(0), limit}, indexes: pending},
		{name: "asidePage", text: asidePage, args: []any{int64(0), limit}, indexes: pending},
		{name: "pausedEvents", text: pausedEvents, args: []any{int64(0), limit}, indexes: pending},
		{name: "keptEvents", text: keptEvents, args: []any{"a", int64(0), limit}, indexes: pending},
		{name: "behindAny", text: behindAny, args: []any{limit}, indexes: pending},
		{name: "waitingAny", text: waitingAny, args: []any{limit}, indexes: pending},
		{name: "claimable", text: claimable, args: []any{int64(math.MinInt64), limit}, indexes: due},
		{name: "claimable from a place", text: claimable, args: []any{now - 1000, limit}, indexes: due},
		{name: "dueScheduled", text: dueScheduled, args: []any{now, limit}, indexes: due},
		{name: "dueWaiting", text: dueWaiting, args: []any{now, limit}, indexes: due},
		{name: "group", text: group, args: []any{groupOf("customer-1"), rows, "customer-1", limit}, indexes: due},
		{name: "probe", text: probe, bare: true, indexes: due},
		{name: "probeKeys", text: probeKeys, list: 2, args: slices.Concat(partitions, []any{"a", "a"}), bare: true, indexes: []string{plans.Pending, plans.Due}},
	}
}

// A look that goes past what is published, or sorts what is pending, is quick in every test but this, and takes half a
// second where a million events are kept.
func TestEachStatementIsReadFromItsIndex(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d := e.Migrated(t)
		table := plans.Fill(t, e, db, d, plans.Rows(t))
		table.Exec(`UPDATE {events} SET state = 4, due_ms = ? WHERE state = 0 AND event_key = 'customer-1'`, groupOf("customer-1"))
		table.Exec(`UPDATE {events} SET state = 5 WHERE state = 0 AND seq % 10 = 4`)
		table.Exec(`UPDATE {events} SET state = 6 WHERE state = 0 AND seq % 10 = 5`)
		table.Each(t, func(t *testing.T) { wantIndexes(t, table) })
		table.Exec(`UPDATE {events} SET partition_no = ? WHERE state = 0`, mountain)
		t.Run("before a mountain in a partition", func(t *testing.T) { wantIndexes(t, table) })
		if d.Name() == "postgres" {
			table.AnalyseAs(0)
			t.Run("and the primary key is found out", func(t *testing.T) {
				wantFault(t, table, planned{name: "an order without the state", indexes: []string{plans.Pending}, list: 2, args: []any{int64(-1), mountain, int64(100)},
					text: `SELECT ` + eventColumns + ` FROM {events} WHERE state = 0 AND partition_no IN ({list}) ORDER BY seq LIMIT ?`})
			})
			table.AnalyseAs(1)
			t.Run("and a whole index is found out", func(t *testing.T) {
				wantFault(t, table, planned{name: "MIN", text: `SELECT MIN(due_ms) FROM {events} WHERE state = 3`, bare: true, indexes: []string{plans.Due}})
			})
		}
		table.DropIndexes()
		t.Run("and what has no index is found out", func(t *testing.T) {
			unhinted := strings.NewReplacer("{use_pending}", "", "{use_due}", "")
			for _, p := range sent(t, d) {
				p.text = unhinted.Replace(p.text)
				wantFault(t, table, p)
			}
		})
	})
}

// sent are the statements that are sent to this engine.
func sent(t *testing.T, d dialect.Dialect) []planned {
	by := byIndex
	if filtersRows(d) {
		by = byRow
	}
	return slices.DeleteFunc(plannedStatements(int64(plans.Rows(t)), by), func(p planned) bool {
		return p.filters && by != byRow || p.keyed && by == byRow
	})
}

func filtersRows(d dialect.Dialect) bool {
	f, ok := d.(dialect.RowFilter)
	return ok && f.FiltersRows()
}

func wantIndexes(t *testing.T, table *plans.Table) {
	for _, p := range sent(t, table.Dialect) {
		if plan, fault := faultOf(t, table, p); fault != "" {
			t.Errorf("%s: %s\n%s", p.name, fault, plan)
		}
	}
}

func wantFault(t *testing.T, table *plans.Table, p planned) {
	t.Helper()
	if plan, fault := faultOf(t, table, p); fault == "" {
		t.Errorf("%s: nothing is wrong with this plan\n%s", p.name, plan)
	}
}

// faultOf is the plan of a statement that is sent as the relay sends it, and what is wrong with it.
func faultOf(t *testing.T, table *plans.Table, p planned) (plan, fault string) {
	t.Helper()
	text, aside := table.SQL.Aside(p.text, p.list, p.aside)
	args := slices.Insert(slices.Clone(p.args), p.list+p.before, aside...)
	if p.beside > 0 {
		text = table.SQL.Lists(p.text, p.list, p.beside)
	}
	err := asked(t.Context(), table, p.bare, func(q rows.Queryer) (err error) {
		plan, err = table.Explain(t.Context(), q, text, args)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	return plan, table.FaultOfLook(plan, p.indexes...)
}

func asked(ctx context.Context, table *plans.Table, bare bool, fn func(rows.Queryer) error) error {
	if bare {
		return fn(table.DB)
	}
	tx, err := table.Dialect.Begin(ctx, table.DB)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return fn(tx)
}
