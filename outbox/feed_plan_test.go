package outbox

import (
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/plans"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// A page that sorts, or reads a table to its end, is quick in every test but this.
func TestTheFeedIsReadByItsNumbers(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		o, table := filled(t, e, plans.Rows(t))
		analyse := map[string]string{"postgres": "ANALYZE {feed}", "mysql": "ANALYZE TABLE {feed}", "sqlite": "ANALYZE"}[o.dialect.Name()]
		fill := func() {
			table.Exec(`INSERT INTO {feed} (feed_seq, seq, published_ms) SELECT seq, seq, due_ms FROM {events} WHERE state = 1`)
		}
		fill()
		t.Run("without statistics", func(t *testing.T) { wantFeedPlans(t, o, table) })
		table.Exec(analyse)
		t.Run("analysed", func(t *testing.T) { wantFeedPlans(t, o, table) })
		table.Exec(`DELETE FROM {feed}`)
		table.Exec(analyse)
		fill()
		t.Run("analysed while it was empty", func(t *testing.T) { wantFeedPlans(t, o, table) })
	})
}

// Ordered by feed_seq alone, MySQL sorts all deliveries of each subscription.
func TestTheLastDeliveriesAreReadWithoutASort(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d := e.Migrated(t)
		o, err := New(db, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		table := plans.On(t, e, db, d)
		table.Exec(`INSERT INTO {subscriptions} (id, name) VALUES (1, 'a'), (2, 'b')`)
		table.Exec(`INSERT INTO {webhook_deliveries} (subscription_id, feed_seq, seq) VALUES (1, 1, 1), (1, 2, 2), (2, 1, 1)`)
		plan := explain(t, o, table, o.sql.SQL(lastDelivered), nil, false)
		for _, bad := range []string{"Sort", "filesort", "TEMP B-TREE"} {
			if strings.Contains(plan, bad) {
				t.Errorf("the plan says %q\n%s", bad, plan)
			}
		}
	})
}

func wantFeedPlans(t *testing.T, o *Outbox, table *plans.Table) {
	for _, p := range []struct {
		name, text string
		args       []any
		changes    bool // sent in a transaction
	}{
		{"feedPage", o.sql.SQL(feedPage), []any{int64(9000), int64(100)}, false},
		{"feedSizes", o.sql.List(feedSizes, 4), []any{int64(1), int64(2), int64(3), int64(3)}, false},
		{"feedEvents", o.sql.List(feedEvents, 4), []any{int64(1), int64(2), int64(3), int64(3)}, false},
		{"oldestNumber", o.sql.SQL(oldestNumber), nil, false},
		{"nextWhole", o.sql.SQL(nextWhole), []any{int64(9000), int64(1)}, false},
		{"feedBegins", o.sql.SQL(feedBegins), []any{int64(15_000), int64(100)}, true},
		{"setNumbers", o.sql.List(setNumbers, 4), []any{int64(1), int64(2), int64(3), int64(3)}, true},
	} {
		plan := explain(t, o, table, p.text, p.args, p.changes)
		for _, bad := range []string{"Sort", "filesort", "TEMP B-TREE", "Seq Scan", "Hash", "type=ALL", "SCAN e", "SCAN outbox_events"} {
			if strings.Contains(plan, bad) {
				t.Errorf("%s: the plan says %q\n%s", p.name, bad, plan)
			}
		}
	}
}

// explain is the plan of a statement that is sent as the outbox sends it.
func explain(t *testing.T, o *Outbox, table *plans.Table, text string, args []any, changes bool) (plan string) {
	t.Helper()
	var q rows.Queryer
	end := func() {}
	var err error
	if changes {
		var tx dialect.Tx
		if tx, err = o.dialect.Begin(t.Context(), o.db); err == nil {
			q, end = tx, func() { _ = tx.Rollback() }
		}
	} else {
		q, end, err = o.reading(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if plan, err = table.Explain(t.Context(), q, text, args); err != nil {
		t.Fatal(err)
	}
	return plan
}
