package fleet

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// hostTime is how long each run of the host's writers takes; OUTBOX_TEST_HOST_TIME=30s asks for a longer look.
func hostTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("OUTBOX_TEST_HOST_TIME")
	if text == "" {
		return 3 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("OUTBOX_TEST_HOST_TIME: %v", err)
	}
	return d
}

// Relays, purge and requeue at work are nothing that a host notices. One engine after the other, since the waits are
// measured.
func TestTheHostsWritersAreNotDisturbed(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range orders() {
			t.Run(order.String(), func(t *testing.T) { undisturbed(t, newDatabase(t, e), order) })
		}
	})
}

func undisturbed(t *testing.T, d *database, order relay.Order) {
	const writers = 16
	d.exec(t, "CREATE TABLE business (writer BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (writer, n))")
	rc := newReceiver(t, func(r receipt) answer {
		if r.Topic == "bad" && !r.Requeued {
			return answer{Kind: answerPermanent, Text: "not yet"}
		}
		return answer{}
	})
	f := newFleet(t, d.url, rc, relay.Options{
		Order: order, Poll: 20 * time.Millisecond, Retention: time.Second, PurgeEvery: 100 * time.Millisecond,
	})
	f.startAll(2)
	d.awaitRelays(t, 2)

	ctx, cancel := context.WithTimeout(t.Context(), hostTime(t))
	defer cancel()
	var working sync.WaitGroup
	logs := make([]writerLog, writers)
	for w := range writers {
		working.Go(func() { logs[w] = d.writeUntil(ctx, w) })
	}
	var requeued int
	var requeueErr error
	working.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil && requeueErr == nil {
			<-tick.C
			var n int
			n, requeueErr = d.RequeueMatching(t.Context(), outbox.DeadLetterQuery{})
			requeued += n
		}
	})
	working.Wait()
	if requeueErr != nil {
		t.Errorf("requeue: %v", requeueErr)
	}

	var ids []string
	var longest, sum time.Duration
	for w, l := range logs {
		if l.err != nil {
			t.Errorf("writer %d: %v", w, l.err)
		}
		ids = append(ids, l.ids...)
		longest = max(longest, l.longest)
		sum += l.sum
	}
	t.Logf("%d transactions, the longest took %v, on average %v; %d requeued",
		len(ids), longest.Round(time.Microsecond), (sum / time.Duration(max(1, len(ids)))).Round(time.Microsecond), requeued)
	eventually(t, time.Minute, "the rest has arrived", func() bool {
		if _, err := d.RequeueMatching(t.Context(), outbox.DeadLetterQuery{}); err != nil {
			t.Fatal(err)
		}
		s := d.stats(t)
		return rc.distinct() == len(ids) && s.Pending == 0 && s.Dead == 0
	})
	eventually(t, 20*time.Second, "what was published is purged", func() bool { return d.stats(t).Published == 0 })
	f.stopAll()
	rc.wantAll(t, ids)
	if n := d.number(t, "SELECT COUNT(*) FROM business"); n != int64(len(ids)) {
		t.Errorf("%d business rows, %d events", n, len(ids))
	}
}

// writerLog is what one writer has done and seen.
type writerLog struct {
	ids          []string
	longest, sum time.Duration // of whole transactions
	err          error
}

// writeUntil runs one business transaction after the other until ctx ends, or the first error.
func (d *database) writeUntil(ctx context.Context, w int) (l writerLog) {
	insert := d.Dialect().Bind("INSERT INTO business (writer, n) VALUES (?, ?)")
	for n := 0; ctx.Err() == nil; n++ {
		topic := "good"
		if n%20 == 7 {
			topic = "bad"
		}
		id := fmt.Sprintf("%d-%d", w, n)
		from := time.Now()
		l.err = d.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, insert, w, n); err != nil {
				return err
			}
			_, err := d.Write(ctx, tx, outbox.Event{ID: id, Topic: topic, Key: fmt.Sprint(n % 50), Payload: []byte(id)})
			return err
		})
		took := time.Since(from)
		if l.err != nil {
			return l
		}
		l.ids = append(l.ids, id)
		l.longest, l.sum = max(l.longest, took), l.sum+took
	}
	return l
}
