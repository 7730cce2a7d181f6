package webhook_test

import (
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// One whose every try fails is tried one by one (see TestRoomForMore), and works again with the first try that is done.
func TestAnEndpointThatAlwaysFailedWorksAgain(t *testing.T) {
	eachService(t, webhook.Options{Careful: time.Millisecond, Schedule: []time.Duration{}, Parallel: 4}, func(s *service) {
		rec := s.receiver(func(request) int { return 500 })
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}})
		s.relay()
		stop := s.work()
		s.write("t", 20)
		s.until("all are dead", func() bool { return s.info("x").Dead == 20 })
		stop()
		if i := s.info("x"); i.Failures != 20 {
			s.Errorf("%+v", i)
		}
		rec.set(nil)
		s.write("t", 20)
		s.until("they are published", func() bool { return s.info("x").Pending == 20 })
		s.work()
		s.until("it works", func() bool { return s.info("x").Done == 20 })
		if i := s.info("x"); i.Failures != 0 || !i.FailingSince.IsZero() {
			s.Errorf("it works, and says %+v", i)
		}
	})
}
