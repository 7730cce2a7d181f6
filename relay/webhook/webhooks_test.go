package webhook_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

func TestEachSubscriberGetsItsTopicsOnceAndSigned(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		orders, all := s.receiver(nil), s.receiver(nil)
		secret := s.create(webhook.Subscription{Name: "orders", URL: orders.URL, Topics: []string{"orders.*"}, Headers: map[string]string{"Authorization": "Bearer x"}})
		s.create(webhook.Subscription{Name: "all", URL: all.URL, Topics: []string{"*"}, Ordered: true})
		s.relay()
		s.work()
		ids := s.write("orders.placed", 20)
		s.write("users.created", 20)
		s.until("all is done", func() bool { return s.info("orders").Done == 20 && s.info("all").Done == 40 })
		if got := all.bodies(); !slices.Equal(got, numbers(0, 40)) {
			s.Errorf("the ordered one got %v", got)
		}
		got := orders.bodies()
		if len(got) != 20 {
			s.Errorf("got %v", got)
		}
		for _, q := range orders.all() {
			id, err := webhook.Verify(q.header, []byte(q.body), secret)
			if err != nil || !slices.Contains(ids, id) || q.n != 1 {
				s.Errorf("%q for the %d. time: %v", id, q.n, err)
			}
			h := q.header
			if h.Get("Content-Type") != "application/json" || h.Get("Webhook-Topic") != "orders.placed" || h.Get("Webhook-Position") == "" || h.Get("Authorization") != "Bearer x" {
				s.Errorf("headers %v", h)
			}
		}
		for i, d := range s.deliveries("all", webhook.Done) {
			if d.Position != int64(i+1) || d.Attempts != 1 || d.Status != 200 || d.Error != "" || d.SettledAt.IsZero() || d.Topic == "" {
				s.Errorf("delivery %+v", d)
			}
		}
	})
}

func TestAnOrderedSubscriptionWaitsForWhatFails(t *testing.T) {
	eachService(t, webhook.Options{Schedule: []time.Duration{50 * time.Millisecond, 50 * time.Millisecond}}, func(s *service) {
		rec := s.receiver(func(r request) int {
			if r.body == "3" && r.n < 3 || r.body == "6" {
				return 500
			}
			return 200
		})
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}, Ordered: true})
		s.write("t", 10)
		s.relay()
		s.work()
		s.until("all is settled", func() bool { i := s.info("x"); return i.Done == 9 && i.Dead == 1 })
		if want := []string{"0", "1", "2", "3", "3", "3", "4", "5", "6", "6", "6", "7", "8", "9"}; !slices.Equal(rec.bodies(), want) {
			s.Errorf("got %v", rec.bodies())
		}
		dead := s.deliveries("x", webhook.Dead)
		if len(dead) != 1 || dead[0].Position != 7 || dead[0].Attempts != 3 || dead[0].Status != 500 || dead[0].Answer != "no" || dead[0].Error != "status 500" {
			s.Errorf("dead: %+v", dead)
		}
		if i := s.info("x"); !i.FailingSince.IsZero() || i.Failures != 0 {
			s.Errorf("it works again, and says %+v", i)
		}
	})
}

func TestWhatIsPublishedDuringAPauseIsKept(t *testing.T) {
	eachService(t, webhook.Options{KeepPaused: 5}, func(s *service) {
		rec, other := s.receiver(nil), s.receiver(nil)
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}, Ordered: true})
		s.create(webhook.Subscription{Name: "other", URL: other.URL, Topics: []string{"*"}})
		s.must(s.w.Pause(s.Context(), "x"))
		s.must(s.w.Pause(s.Context(), "x"))
		s.relay()
		s.work()
		s.write("t", 8)
		s.until("the other has all", func() bool { return s.info("other").Done == 8 })
		if i := s.info("x"); i.State != webhook.Paused || i.Pending != 5 || i.Kept != 5 || i.Missed != 3 || i.MissedFrom != 6 || len(rec.all()) > 0 {
			s.Errorf("paused: %+v, got %v", i, rec.bodies())
		}
		s.must(s.w.Resume(s.Context(), "x"))
		s.write("t", 2)
		s.until("it has what was kept", func() bool { return s.info("x").Done == 7 })
		if want := []string{"0", "1", "2", "3", "4", "8", "9"}; !slices.Equal(rec.bodies(), want) {
			s.Errorf("got %v", rec.bodies())
		}
		if i := s.info("x"); i.State != webhook.Active || i.Kept != 0 || i.Missed != 3 {
			s.Errorf("resumed: %+v", i)
		}
	})
}

// What the host lets its own writers write is not for this module's event.
func TestAnEndpointThatIsGoneIsDisabledWhateverMaxPayloadSays(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		var err error
		if s.o, err = outbox.New(s.db, s.d, &outbox.Options{Feed: true, MaxPayload: 20}); err != nil {
			s.Fatal(err)
		}
		s.w = s.webhooks()
		rec := s.receiver(func(request) int { return 410 })
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}})
		s.relay()
		s.work()
		s.write("t", 1)
		s.until("it is disabled", func() bool { return s.info("x").State == webhook.Disabled })
		s.until("and an event says so", func() bool {
			return s.number(`SELECT COUNT(*) FROM {events} WHERE topic = 'sqloutbox.webhook.disabled' AND state = 1`) == 1
		})
	})
}

func TestA410DisablesAndAnEventSaysSo(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		rec, operator := s.receiver(func(request) int { return 410 }), s.receiver(nil)
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}})
		s.create(webhook.Subscription{Name: "operator", URL: operator.URL, Topics: []string{"sqloutbox.*"}})
		s.relay()
		s.work()
		s.write("t", 1)
		s.until("the event arrives", func() bool { return s.info("operator").Done == 1 })
		q := operator.all()[0]
		var said webhook.DisabledEvent
		s.must(json.Unmarshal([]byte(q.body), &said))
		since := said.FailingSinceMS
		said.FailingSinceMS = 0
		want := webhook.DisabledEvent{Subscription: "x", Reason: "the endpoint answered 410 Gone", Failures: 1, MissesFrom: 2}
		if said != want || since == 0 || q.header.Get("webhook-topic") != webhook.TopicDisabled {
			s.Errorf("got %+v", q)
		}
		s.write("t", 3)
		s.until("they are published", func() bool { return s.number(`SELECT COUNT(*) FROM {feed}`) == 5 })
		if i := s.info("x"); i.State != webhook.Disabled || i.Reason == "" || i.MissedFrom != 2 || i.Pending != 0 || i.Dead != 1 || len(rec.all()) != 1 {
			s.Errorf("disabled: %+v after %d requests", i, len(rec.all()))
		}
	})
}

func TestAnEndpointThatFailsForDaysIsDisabled(t *testing.T) {
	eachService(t, webhook.Options{Schedule: []time.Duration{}}, func(s *service) {
		rec := s.receiver(func(request) int { return 500 })
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}})
		s.relay()
		s.work()
		s.write("t", 5)
		s.until("all are dead", func() bool { return s.info("x").Dead == 5 })
		s.exec(`UPDATE {subscriptions} SET failing_ms = failing_ms - ?`, (6 * 24 * time.Hour).Milliseconds())
		s.write("t", 1) // the sixth failure: too few
		s.until("it is dead", func() bool { return s.info("x").Dead == 6 })
		if i := s.info("x"); i.State != webhook.Active || i.Failures != 6 {
			s.Errorf("%+v", i)
		}
		s.write("t", 4)
		s.until("it is disabled", func() bool { return s.info("x").State == webhook.Disabled })
		if n := s.number(`SELECT COUNT(*) FROM {events} WHERE topic = ?`, webhook.TopicDisabled); n != 1 {
			s.Errorf("%d events about it", n)
		}
		s.must(s.w.Resume(s.Context(), "x"))
		if i := s.info("x"); i.State != webhook.Active || i.Failures != 0 || !i.FailingSince.IsZero() {
			s.Errorf("enabled: %+v", i)
		}
	})
}

func TestRetryAfterIsKeptToByTheWholeSubscription(t *testing.T) {
	eachService(t, webhook.Options{Schedule: []time.Duration{0, 0, 0, 0}, Parallel: 1}, func(s *service) {
		rec := s.receiver(nil)
		busy := true
		rec.Config.Handler = throttling(rec, &busy)
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"t"}})
		s.write("t", 5)
		s.relay()
		s.work()
		s.until("it rests", func() bool { return !s.info("x").RestsUntil.IsZero() })
		s.write("t", 5)
		s.until("all are owed", func() bool { return s.info("x").Pending == 10 })
		s.looked()
		if n := len(rec.all()); n != 1 {
			s.Errorf("%d requests after it asked to be left alone", n)
		}
		rec.mu.Lock()
		busy = false
		rec.mu.Unlock()
		s.exec(`UPDATE {subscriptions} SET rest_ms = 0`)
		s.exec(`UPDATE {webhook_deliveries} SET due_ms = 0 WHERE attempts > 0`)
		s.until("all are done", func() bool { return s.info("x").Done == 10 })
	})
}

func TestADeliveryWhoseEventIsGoneIsDead(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		rec := s.receiver(nil)
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}})
		stop := s.relay()
		s.write("t", 2)
		s.until("they are published", func() bool { return s.info("x").Pending == 2 })
		stop()
		s.exec(`DELETE FROM {events} WHERE seq = (SELECT seq FROM {webhook_deliveries} WHERE feed_seq = 1)`)
		s.work()
		s.until("both are settled", func() bool { i := s.info("x"); return i.Done == 1 && i.Dead == 1 })
		if d := s.deliveries("x", webhook.Dead)[0]; d.Error != "the event has been purged" || d.EventID != "" || len(rec.all()) != 1 {
			s.Errorf("%+v after %d requests", d, len(rec.all()))
		}
		if i := s.info("x"); i.Failures != 0 {
			s.Errorf("the endpoint is charged: %+v", i)
		}
	})
}

func TestPurgeWaitsForWhatIsOwed(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		s.create(webhook.Subscription{Name: "x", URL: "http://127.0.0.1:1", Topics: []string{"*"}})
		stop := s.relay()
		s.write("t", 4)
		s.until("they are published", func() bool { return s.info("x").Pending == 4 })
		stop()
		s.exec(`UPDATE {events} SET due_ms = due_ms - 100000, settled_ms = settled_ms - 100000`)
		s.exec(`UPDATE {feed} SET published_ms = published_ms - 100000`)
		s.exec(`UPDATE {webhook_deliveries} SET state = 1 WHERE feed_seq = 1`)
		s.exec(`UPDATE {webhook_deliveries} SET state = 2 WHERE feed_seq = 3`)
		purge := func(what string, want int) {
			s.Helper()
			n, err := s.o.Purge(s.Context(), outbox.PurgeOptions{Published: time.Second})
			if n != want || err != nil {
				s.Errorf("%s: %d purged, want %d: %v", what, n, want, err)
			}
		}
		purge("the second is owed", 1)
		s.exec(`UPDATE {webhook_deliveries} SET state = 1 WHERE feed_seq = 2`)
		purge("the fourth is owed, the third is dead", 2)
		s.must(s.w.Pause(s.Context(), "x"))
		purge("it is paused", 0)
		s.exec(`UPDATE {subscriptions} SET since_ms = since_ms - hold_ms - 1000`)
		purge("it is paused for too long", 1)
	})
}
