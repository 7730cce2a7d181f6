package webhook_test

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

func TestDeadDeliveriesAreSentAgain(t *testing.T) {
	eachService(t, webhook.Options{Schedule: []time.Duration{}}, func(s *service) {
		rec := s.receiver(func(request) int { return 500 })
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}})
		s.relay()
		stop := s.work()
		s.write("t", 20)
		s.until("all are dead", func() bool { return s.info("x").Dead == 20 })
		rec.set(nil)
		again := func(q webhook.RedeliverQuery, want int) {
			s.Helper()
			if n, err := s.w.Redeliver(s.Context(), "x", q); n != want || err != nil {
				s.Errorf("%+v: %d, %v, want %d", q, n, err, want)
			}
		}
		again(webhook.RedeliverQuery{From: 7, To: 7}, 1)
		s.until("one is done", func() bool { return s.info("x").Done == 1 })
		if d := s.deliveries("x", webhook.Done)[0]; d.Position != 7 || d.Attempts != 1 {
			s.Errorf("done: %+v", d)
		}
		again(webhook.RedeliverQuery{From: 5, To: 9}, 4)
		s.until("five are done", func() bool { return s.info("x").Done == 5 })
		again(webhook.RedeliverQuery{From: 7, To: 7}, 0)
		again(webhook.RedeliverQuery{From: 7, To: 7, Done: true}, 1)
		s.until("five are done", func() bool { return s.info("x").Done == 5 })
		stop()
		again(webhook.RedeliverQuery{Rate: 500}, 15)
		// Ramped: 1, 2, 4, 8 a second.
		if wait := s.number(`SELECT MAX(due_ms) - MIN(due_ms) FROM {webhook_deliveries} WHERE state = 0`); wait < 2000 {
			s.Errorf("the last is due %d ms after the first", wait)
		}
		s.exec(`UPDATE {webhook_deliveries} SET due_ms = 0 WHERE state = 0`)
		s.work()
		s.until("all are done", func() bool { return s.info("x").Done == 20 })
		for _, bad := range []webhook.RedeliverQuery{{From: -1}, {From: 2, To: 1}, {Rate: 501}, {Rate: -1}} {
			if _, err := s.w.Redeliver(s.Context(), "x", bad); !errors.Is(err, outbox.ErrInvalidOptions) {
				s.Errorf("%+v: %v", bad, err)
			}
		}
		if _, err := s.w.Redeliver(s.Context(), "y", webhook.RedeliverQuery{}); !errors.Is(err, webhook.ErrUnknownSubscription) {
			s.Error(err)
		}
	})
}

func TestWhatWasMissedIsRefilled(t *testing.T) {
	eachService(t, webhook.Options{KeepPaused: 2}, func(s *service) {
		rec := s.receiver(nil)
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"a"}, Ordered: true})
		s.must(s.w.Pause(s.Context(), "x"))
		s.relay()
		for range 300 {
			s.write("a", 3)
			s.write("b", 1)
		}
		s.until("all are published", func() bool { return s.number(`SELECT COUNT(*) FROM {feed}`) == 1200 })
		i := s.info("x")
		if i.Missed != 898 || i.MissedFrom != 3 || i.Pending != 2 {
			s.Fatalf("%+v", i)
		}
		if n, err := s.w.Refill(s.Context(), "x", i.MissedFrom); n != 898 || err != nil {
			s.Errorf("%d, %v", n, err)
		}
		if n, err := s.w.Refill(s.Context(), "x", 1); n != 0 || err != nil {
			s.Errorf("a second time: %d, %v", n, err)
		}
		s.exec(`UPDATE {webhook_deliveries} SET due_ms = 0`)
		s.must(s.w.Resume(s.Context(), "x"))
		s.work()
		s.until("all are done", func() bool { return s.info("x").Done == 900 })
		var want []string
		for n, text := range numbers(0, 1200) {
			if n%4 != 3 {
				want = append(want, text)
			}
		}
		if !slices.Equal(rec.bodies(), want) {
			s.Errorf("got %v", rec.bodies())
		}
		if i := s.info("x"); i.Missed != 0 || i.MissedFrom != 0 {
			s.Errorf("%+v", i)
		}
	})
}

// A killed worker leaves its claims as they are.
func TestAKilledWorkersClaimIsTakenAfterItsLease(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		for _, ordered := range []bool{false, true} {
			name := map[bool]string{false: "parallel", true: "ordered"}[ordered]
			rec := s.receiver(nil)
			s.create(webhook.Subscription{Name: name, URL: rec.URL, Topics: []string{name}, Ordered: ordered})
			stopRelay := s.relay()
			s.write(name, 3)
			s.until("they are published", func() bool { return s.info(name).Pending == 3 })
			stopRelay()
			s.exec(`UPDATE {webhook_deliveries} SET claimed_by = 'killed', due_ms = {clock} + 3600000
WHERE state = 0 AND feed_seq = (SELECT n FROM (SELECT MIN(feed_seq) AS n FROM {webhook_deliveries} WHERE state = 0) x)`)
			stop := s.work()
			if !ordered {
				s.until("the others are done", func() bool { return s.info(name).Done == 2 })
			} else {
				s.looked()
			}
			if n := len(rec.all()); ordered && n != 0 {
				s.Errorf("%d went past the first", n)
			}
			s.exec(`UPDATE {webhook_deliveries} SET due_ms = {clock} WHERE claimed_by = 'killed'`) // its lease is over
			s.until("all are done", func() bool { return s.info(name).Done == 3 })
			stop()
			if ordered && !slices.Equal(rec.bodies(), numbers(3, 6)) || len(rec.all()) != 3 {
				s.Errorf("%s: got %v", name, rec.bodies())
			}
		}
	})
}

// looked waits until workers have looked: another subscription is served.
func (s *service) looked() {
	s.Helper()
	rec := s.receiver(nil)
	s.create(webhook.Subscription{Name: "look", URL: rec.URL, Topics: []string{"look"}})
	stop := s.relay()
	defer stop()
	s.write("look", 1)
	s.until("the other is served", func() bool { return s.info("look").Done == 1 })
}

// What a worker records after its claim was taken changes nothing.
func TestALateOutcomeIsRefused(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		arrived, release := make(chan struct{}, 1), make(chan struct{})
		rec := s.receiver(func(r request) int {
			arrived <- struct{}{}
			<-release
			return 200
		})
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}})
		s.relay()
		stop := s.work()
		s.write("t", 1)
		<-arrived
		s.exec(`UPDATE {webhook_deliveries} SET claimed_by = 'another', due_ms = {clock} + 3600000`)
		close(release)
		stop()
		if i := s.info("x"); i.Pending != 1 || i.Done != 0 {
			s.Errorf("it was recorded: %+v", i)
		}
		if n := s.number(`SELECT COUNT(*) FROM {webhook_deliveries} WHERE claimed_by = 'another' AND attempts = 0`); n != 1 {
			s.Error("the other's claim was changed")
		}
	})
}

// Processes start in any order: workers too wait for their database.
func TestWorkersWaitForTheirDatabase(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		rec := s.receiver(nil)
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}})
		s.relay()
		var back atomic.Bool
		var refused atomic.Int64
		w := s.hooked(hookdb.Hooks{Before: func(string) error {
			if !back.Load() {
				refused.Add(1)
				return hookdb.ErrCut
			}
			return nil
		}})
		s.background(w.Run)
		s.until("it has asked twice", func() bool { return refused.Load() >= 2 })
		back.Store(true)
		s.write("t", 1)
		s.until("it is sent", func() bool { return s.info("x").Done == 1 })
	})
}

// Purge goes by the age of events, and a sweep by that of deliveries: of what is purged there may be deliveries for long.
func TestARefillReadsNoDeliveriesOfWhatIsPurged(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		s.apart(0, 2)
		read := s.reads()
		n, err := s.w.RefillRange(s.Context(), "x", 1, 0)
		if n != 2 || !errors.Is(err, outbox.ErrGone) {
			s.Errorf("refilled %d, %v; want 2, and that what was before is gone", n, err)
		}
		if n := read(); n > 1000 {
			s.Errorf("%d rows were read", n)
		}
	})
}

// What is put back has no place in the feed for as long, and keeps its deliveries.
func TestARefillGoesPastDeliveriesOfWhatWasPutBack(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		s.apart(1, 2)
		s.exec(`INSERT INTO {webhook_deliveries} (subscription_id, feed_seq, seq, state) SELECT id, 3002, 2, 1 FROM {subscriptions}`)
		if n, err := s.w.RefillRange(s.Context(), "x", 1, 0); n != 2 || err != nil {
			s.Errorf("refilled %d, %v; want 2", n, err)
		}
	})
}

// apart publishes events before and behind 3,000 positions that have no place in the feed, and makes a subscription that has
// a delivery of each of these.
func (s *service) apart(before, behind int) {
	s.Helper()
	stop := s.relay()
	s.write("a", before+behind)
	s.until("they are published", func() bool { return s.number(`SELECT COUNT(*) FROM {feed}`) == int64(before+behind) })
	stop()
	s.create(webhook.Subscription{Name: "x", URL: "http://127.0.0.1:1/", Topics: []string{"*"}})
	for n := before + behind; n > before; n-- {
		for _, table := range []string{"feed", "events"} {
			s.exec(`UPDATE {`+table+`} SET feed_seq = feed_seq + 3000 WHERE feed_seq = ?`, n)
		}
	}
	s.exec(`UPDATE {counters} SET value = value + 3000 WHERE name = 'feed'`)
	s.exec(`INSERT INTO {webhook_deliveries} (subscription_id, feed_seq, seq, state)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 500)
SELECT s.id, ? + a.n + 500 * (b.n - 1), 1, 1 FROM {subscriptions} s, numbers a, numbers b WHERE b.n <= 6`, before)
}

// reads begins to count the rows that are read in their order, where sessions know it: on MySQL and MariaDB.
func (s *service) reads() (since func() int64) {
	if s.d.Name() != "mysql" {
		return func() int64 { return 0 }
	}
	s.db.SetMaxOpenConns(1)
	count := func() (n int64) {
		var name string
		s.must(s.db.QueryRowContext(s.Context(), `SHOW SESSION STATUS LIKE 'Handler_read_next'`).Scan(&name, &n))
		return n
	}
	before := count()
	return func() int64 { return count() - before }
}
