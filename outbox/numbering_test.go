package outbox_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// A relay that starts has some seconds for its check, which it tries for ever: a statement for each would take longer where
// the database is not beside it.
func TestCheckAsksNoMoreBesideThousandsOfSubscriptions(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		db, d := e.Migrated(t)
		var asked atomic.Int64
		hooked := hookdb.Open(db, hookdb.Hooks{Before: func(query string) error {
			if strings.Contains(query, "SELECT") {
				asked.Add(1)
			}
			return nil
		}})
		defer hooked.Close()
		b := newBox(t, hooked, d)
		check := func() (int64, error) {
			asked.Store(0)
			start := time.Now()
			err := b.Check(t.Context())
			t.Logf("%d statements, %v", asked.Load(), time.Since(start))
			return asked.Load(), err
		}
		for range 3 {
			b.exec(`INSERT INTO {events} (id, topic, payload) VALUES (?, 't', ?)`, fmt.Sprint(time.Now().UnixNano()), []byte{})
		}
		b.subscribe(1, 20)
		few, err := check()
		if err != nil {
			t.Error(err)
		}
		b.subscribe(21, 3000)
		many, err := check()
		if err != nil {
			t.Error(err)
		}
		if many != few {
			t.Errorf("%d statements beside 3000 subscriptions, %d beside 20", many, few)
		}
		b.exec(`UPDATE {webhook_deliveries} SET seq = 1000001 - feed_seq WHERE subscription_id = 2999`)
		_, err = check()
		if !errors.Is(err, outbox.ErrSequenceBehind) || !strings.Contains(err.Error(), "100000") {
			t.Errorf("a subscription that has come further, not in order: %v", err)
		}
	})
}

// subscribe makes subscriptions with the ids from first to last, with three deliveries each.
func (b *box) subscribe(first, last int) {
	b.Helper()
	var rows, deliveries []string
	for id := first; id <= last; id++ {
		rows = append(rows, fmt.Sprintf("(%d, 's%d')", id, id))
		deliveries = append(deliveries, fmt.Sprintf("(%d, 1, 1), (%d, 2, 2), (%d, 3, 3)", id, id, id))
	}
	b.exec(`INSERT INTO {subscriptions} (id, name) VALUES ` + strings.Join(rows, ", "))
	b.exec(`INSERT INTO {webhook_deliveries} (subscription_id, feed_seq, seq) VALUES ` + strings.Join(deliveries, ", "))
}
