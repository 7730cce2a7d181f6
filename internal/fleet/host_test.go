package fleet

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
)

// hostTime is for how long the host's writers work beside relays, and as long again alone; OUTBOX_TEST_HOST_TIME=30s asks for a longer look.
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

const (
	hostRounds = 3
	// How many times longer than without relays the host's transactions may take. Two processes more, on two cores, are within
	// it; writers that wait for each purge or settle are not.
	hostLongest, hostAverage = racing.Slow * 10, racing.Slow * 5
)

// Relays, purge and requeue at work cost the host's writers no more than a few times what they cost each other. They work in
// rounds with relays and without, by turns, and the best round with them is compared with the worst without: a machine that
// stands for a moment is no fault of theirs. On SQLite the average alone says something, since of writers without a pause some
// wait for all of a round, relays or not. One engine after the other, since waits are measured.
func TestTheHostsWritersAreNotDisturbed(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		for _, order := range orders() {
			t.Run(order.String(), func(t *testing.T) { undisturbed(t, newDatabase(t, e), order) })
		}
	})
}

func undisturbed(t *testing.T, d *database, order relay.Order) {
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
	var ids []string
	var alone, beside []hostRound
	for range hostRounds {
		alone = append(alone, d.hostRound(t, len(alone)+len(beside)))
		f.startAll(2)
		d.awaitRelays(t, 2)
		stop := d.keepRequeuing(t)
		beside = append(beside, d.hostRound(t, len(alone)+len(beside)))
		stop()
		f.stopAll()
	}
	for i := range hostRounds {
		t.Logf("alone: %v; beside relays: %v", alone[i], beside[i])
		ids = append(append(ids, alone[i].ids...), beside[i].ids...)
	}
	judge := func(what string, slower time.Duration, of func(r hostRound) time.Duration) {
		byTime := func(a, b hostRound) int { return cmp.Compare(of(a), of(b)) }
		worst, best := of(slices.MaxFunc(alone, byTime)), of(slices.MinFunc(beside, byTime))
		if best > slower*worst {
			t.Errorf("%s took %v at least in each round with relays, and %v at most without", what, best, worst)
		}
	}
	judge("the longest transaction", hostLongest, func(r hostRound) time.Duration { return r.longest })
	judge("a transaction on average", hostAverage, hostRound.average)

	f.startAll(2)
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

// keepRequeuing puts back whatever is dead, until it is stopped.
func (d *database) keepRequeuing(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		requeued := 0
		for {
			select {
			case <-ctx.Done():
				t.Logf("%d requeued", requeued)
				return
			case <-tick.C:
			}
			n, err := d.RequeueMatching(context.WithoutCancel(ctx), outbox.DeadLetterQuery{})
			if err != nil {
				t.Errorf("requeue: %v", err)
				return
			}
			requeued += n
		}
	})
	return func() {
		cancel()
		working.Wait()
	}
}

// hostRound is what the host's writers have done in a while.
type hostRound struct {
	ids          []string
	longest, sum time.Duration // of whole transactions
}

func (r hostRound) String() string {
	return fmt.Sprintf("%d transactions, the longest took %v, on average %v",
		len(r.ids), r.longest.Round(time.Microsecond), r.average().Round(time.Microsecond))
}

func (r hostRound) average() time.Duration { return r.sum / time.Duration(max(1, len(r.ids))) }

func (d *database) hostRound(t *testing.T, round int) (r hostRound) {
	t.Helper()
	const writers = 16
	ctx, cancel := context.WithTimeout(t.Context(), hostTime(t)/hostRounds)
	defer cancel()
	var working sync.WaitGroup
	logs := make([]writerLog, writers)
	for w := range writers {
		working.Go(func() { logs[w] = d.writeUntil(ctx, round*writers+w) })
	}
	working.Wait()
	for w, l := range logs {
		if l.err != nil {
			t.Errorf("writer %d: %v", w, l.err)
		}
		r.ids = append(r.ids, l.ids...)
		r.longest, r.sum = max(r.longest, l.longest), r.sum+l.sum
	}
	return r
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
