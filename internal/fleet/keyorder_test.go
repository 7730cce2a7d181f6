package fleet

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// For one key the order of insertion is that of the commits when the host makes the writers of the key take turns, here
// by a row lock. Transactions of other keys commit in any order, and a relay reads all the while.
func TestEachKeysEventsArriveInTheOrderOfItsCommits(t *testing.T) {
	const writers, keys, each = 8, 5, 100
	eachEngine(t, func(t *testing.T, d *database) {
		d.exec(t, "CREATE TABLE aggregates (name VARCHAR(40) PRIMARY KEY, counter BIGINT NOT NULL)")
		for k := range keys {
			d.exec(t, "INSERT INTO aggregates (name, counter) VALUES (?, 0)", key(k))
		}
		p := new(noted)
		r, err := relay.New(d.Outbox, p, &relay.Options{Order: relay.OrderTotal, Poll: time.Millisecond, Batch: 10})
		if err != nil {
			t.Fatal(err)
		}
		stop := runRelay(t, r)
		var writing sync.WaitGroup
		for range writers {
			writing.Go(func() {
				for range each {
					if err := d.change(t.Context(), key(rand.IntN(keys))); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		writing.Wait()
		d.awaitSettled(t, 20*time.Second)
		stop()
		last := make(map[string]int)
		for _, m := range p.got {
			n, err := strconv.Atoi(string(m.Payload))
			if err != nil {
				t.Fatal(err)
			}
			if n != last[m.Key]+1 {
				t.Fatalf("key %s: event %d arrived after event %d", m.Key, n, last[m.Key])
			}
			last[m.Key] = n
		}
		if len(p.got) != writers*each {
			t.Errorf("%d events arrived, want %d", len(p.got), writers*each)
		}
	})
}

func key(k int) string { return fmt.Sprint("aggregate-", k) }

// change is a business transaction: it counts an aggregate up and says so. Now and then it keeps its row and its
// number for a while before it commits, or rolls back.
func (d *database) change(ctx context.Context, name string) error {
	for {
		rollBack := rand.IntN(10) == 0
		err := d.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			bind := d.Dialect().Bind
			if _, err := tx.ExecContext(ctx, bind("UPDATE aggregates SET counter = counter + 1 WHERE name = ?"), name); err != nil {
				return err
			}
			var n int
			if err := tx.QueryRowContext(ctx, bind("SELECT counter FROM aggregates WHERE name = ?"), name).Scan(&n); err != nil {
				return err
			}
			if _, err := d.Write(ctx, tx, outbox.Event{Topic: "changed", Key: name, Payload: []byte(strconv.Itoa(n))}); err != nil {
				return err
			}
			if rand.IntN(4) == 0 {
				time.Sleep(rand.N(10 * time.Millisecond)) // the host thinks
			}
			if rollBack {
				return errRolledBack
			}
			return nil
		})
		if err != errRolledBack {
			return err
		}
	}
}

var errRolledBack = fmt.Errorf("rolled back on purpose")
