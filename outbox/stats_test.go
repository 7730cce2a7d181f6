package outbox

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/all"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/plans"
)

// A replica may be asked, by a pool of one connection, and Stats must have nothing to write and nothing to wait for.
func TestStatsNeedsOneConnectionThatMayOnlyRead(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		url := e.NewDatabase(t)
		writer, d := engines.Migrated(t, url)
		plans.Fill(t, e, writer, d, plans.Step)
		readOnly := map[string]string{
			"postgres": "default_transaction_read_only=on",
			"mysql":    "transaction_read_only=1",
			"mariadb":  "tx_read_only=1",
			"sqlite":   "_pragma=query_only(1)",
		}[e.Name]
		separator := "?"
		if strings.Contains(url, "?") {
			separator = "&"
		}
		db, d, err := all.Open(url + separator + readOnly)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		o, err := New(db, d, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), o.sql.SQL("DELETE FROM {events}")); err == nil {
			t.Fatal("the connection may write: this shows nothing")
		}
		for range 2 { // the connection is given back
			s, err := o.Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if s.OldestPending < time.Second || s.OldestPending > time.Hour {
				t.Errorf("the oldest pending event is %v old", s.OldestPending)
			}
			s.OldestPending, s.Leases = 0, nil
			if want := (Stats{Pending: 600, Due: 300, Waiting: 300, Scheduled: 200, Dead: 100, Published: 9100}); !reflect.DeepEqual(s, want) {
				t.Errorf("got %+v, want %+v", s, want)
			}
		}
		if n := db.Stats().InUse; n != 0 {
			t.Errorf("%d connections are still in use", n)
		}
	})
}
