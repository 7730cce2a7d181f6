package webhook

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/plans"
	"github.com/sqloutbox/sqloutbox/internal/rows"
)

// Ten thousand deliveries. Of the last thousand of each subscription some are dead and some pending; all others are done.
const (
	fillDeliveries = `INSERT INTO {webhook_deliveries} (subscription_id, feed_seq, seq, state, due_ms)
  WITH digits (d) AS (SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
            UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9),
       numbers (i) AS (SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * d.d FROM digits a, digits b, digits c, digits d)
SELECT %d, i, i, CASE WHEN i <= 9000 OR i %% 10 > 2 THEN 1 WHEN i %% 10 = 2 THEN 2 ELSE 0 END, i * 7919 %% 10007 FROM numbers`
)

// Each by its index, in its order, whatever the engine knows of the table.
func TestDeliveriesAreFoundByTheirIndexes(t *testing.T) {
	const due, order = "outbox_webhook_deliveries_due", "outbox_webhook_deliveries_order"
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d := e.Migrated(t)
		table := plans.On(t, e, db, d)
		for id := range 4 {
			table.Exec(fmt.Sprintf(fillDeliveries, id+1))
			table.Exec(fmt.Sprintf(`INSERT INTO {subscriptions} (id, name, in_order) VALUES (%d, 's%d', %d)`, id+1, id+1, id%2))
		}
		for _, statistics := range []bool{false, true} {
			if statistics {
				table.Exec(map[string]string{"postgres": "ANALYZE", "mysql": "ANALYZE TABLE {webhook_deliveries}", "sqlite": "ANALYZE"}[d.Name()])
			}
			for _, p := range []struct {
				name, text string
				args       []any
				tx         bool // it is asked in a transaction of the library's own
				indexes    []string
			}{
				{"probe", probe, nil, false, []string{due, order}},
				{"nextInOrder", nextInOrder, []any{1, 16}, true, []string{order}},
				{"nextDue", nextDue, []any{1, 5000, 16}, true, []string{due}},
				{"oldDeliveries", oldDeliveries, []any{1, 1, 50, 500}, true, []string{due}},
				{"settledDeliveries", settledDeliveries, []any{1, 1, 3, 1, 10000, 500}, true, []string{order}},
				{"listMissed", listMissed, []any{1}, false, []string{order}},
				{"listDeliveries", listDeliveries, []any{1, 1, 3, 0, 100}, false, []string{order}},
			} {
				t.Run(fmt.Sprintf("%s, statistics %v", p.name, statistics), func(t *testing.T) {
					var q rows.Queryer = db
					if p.tx {
						tx, err := d.Begin(t.Context(), db)
						if err != nil {
							t.Fatal(err)
						}
						defer tx.Rollback()
						q = tx
					}
					plan, err := table.Explain(t.Context(), q, table.SQL.SQL(p.text), p.args)
					if err != nil {
						t.Fatal(err)
					}
					if fault := deliveryFault(plan, p.indexes); fault != "" {
						t.Errorf("%s:\n%s", fault, plan)
					}
				})
			}
			t.Run(fmt.Sprintf("delivered, statistics %v", statistics), func(t *testing.T) {
				tx, err := d.Begin(t.Context(), db)
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback()
				plan, err := table.Explain(t.Context(), tx, table.SQL.SQL(delivered), []any{1, 3000, 3499, 500})
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range map[string][]string{
					"postgres": {"pkey", "feed_seq <= '3499'"}, "mysql": {"type=range", "; key=PRIMARY"}, "sqlite": {"autoindex", "feed_seq>? AND feed_seq<?"},
				}[d.Name()] {
					if !strings.Contains(plan, want) || strings.Contains(plan, "Sort") || strings.Contains(plan, "filesort") || strings.Contains(plan, "TEMP B-TREE") {
						t.Errorf("not a range of the primary key, in its order:\n%s", plan)
					}
				}
			})
		}
	})
}

func deliveryFault(plan string, indexes []string) string {
	for _, bad := range []string{"filesort", "webhook_deliveries_pkey", "autoindex_outbox_webhook_deliveries", "Seq Scan on outbox_webhook_deliveries", "SCAN outbox_webhook_deliveries", "SCAN d"} {
		if strings.Contains(plan, bad) {
			return "the plan says " + bad
		}
	}
	for line := range strings.Lines(plan) {
		if strings.Contains(line, "Sort") && !strings.Contains(line, "subscriptions") || strings.Contains(line, "TEMP B-TREE") {
			return "the plan sorts"
		}
		if strings.Contains(line, "type=ALL") && strings.Contains(line, "webhook_deliveries") || strings.Contains(line, "table=d; ") && strings.Contains(line, "key=PRIMARY") {
			return "a table is read as a whole, or by its primary key"
		}
	}
	for _, index := range indexes {
		if !strings.Contains(plan, index) {
			return "not by " + index
		}
	}
	return ""
}
