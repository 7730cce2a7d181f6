package relay_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// A relay registers and takes the partitions while another waits for their rows' locks: what the other's statement saw when it
// began tells nothing of that relay. On SQLite nobody's statement waits for a row.
func TestAPartitionIsNotTakenFromOneThatRegisteredMeanwhile(t *testing.T) {
	const inInnoDB = "SELECT COUNT(*) FROM information_schema.innodb_trx JOIN information_schema.processlist ON id = trx_mysql_thread_id " +
		"WHERE trx_state = 'LOCK WAIT' AND trx_query LIKE '%outbox_leases%' AND db = DATABASE()"
	waiting := map[string]string{
		"postgres": "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
		"mysql":    inInnoDB, "mariadb": inInnoDB,
	}
	engines.EachOf(t, []string{"postgres", "mysql", "mariadb"}, func(t *testing.T, e *engines.Engine) {
		o := newOutbox(t, e)
		opts := relay.Options{Poll: 10 * time.Millisecond, Lease: time.Minute}
		nothing := relay.PublisherFunc(func(context.Context, relay.Message) error { return nil })
		drain(t, relayOf(t, o, nothing, &opts), 0) // partitions are made
		var tx *sql.Tx
		asked, ended := make(chan struct{}), make(chan struct{})
		var ask, end sync.Once
		db := hookdb.Open(o.DB(), hookdb.Hooks{
			Before: func(query string) error {
				if strings.HasPrefix(query, "SELECT name FROM outbox_leases") && strings.Contains(query, "FOR UPDATE") {
					ask.Do(func() {
						tx = takenByAnother(t, o)
						close(asked)
					})
				}
				return nil
			},
			After: func(query string) error {
				select {
				case <-asked:
					if query == hookdb.Commit {
						end.Do(func() { close(ended) })
					}
				default:
				}
				return nil
			},
		})
		defer db.Close()
		defer running(t, relayOf(t, outboxOn(t, db, o), nothing, &opts))()
		<-asked
		until(t, "it waits for the rows", func() bool {
			var n int
			return o.DB().QueryRow(waiting[e.Name]).Scan(&n) == nil && n > 0
		})
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		<-ended
		var taken int
		if err := o.DB().QueryRow("SELECT COUNT(*) FROM outbox_leases WHERE owner <> 'x' AND name LIKE 'key/%'").Scan(&taken); err != nil {
			t.Fatal(err)
		}
		if taken > 0 {
			t.Errorf("%d were taken from a relay that lives", taken)
		}
	})
}

// takenByAnother has a relay register that has all partitions, in a transaction that is still open.
func takenByAnother(t *testing.T, o *outbox.Outbox) *sql.Tx {
	tx, err := o.DB().Begin()
	if err != nil {
		t.Error(err)
		return nil
	}
	now := time.Now().UnixMilli()
	for _, statement := range []string{
		"UPDATE outbox_leases SET owner = 'x' WHERE name LIKE 'key/%'",
		fmt.Sprintf("INSERT INTO outbox_relays (id, order_name, seen_ms, until_ms) VALUES ('x', 'per_key', %d, %d)", now, now+60_000),
	} {
		if _, err := tx.Exec(statement); err != nil {
			t.Error(err)
		}
	}
	return tx
}
