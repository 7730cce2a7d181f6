package webhook_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// throttling is a receiver that asks to be left alone while busy.
func throttling(rec *receiver, busy *bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec.add(r.Header, "")
		rec.mu.Lock()
		defer rec.mu.Unlock()
		if *busy {
			askForRest(w)
		}
	})
}

func askForRest(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "3600")
	w.WriteHeader(http.StatusTooManyRequests)
}

// Eight requests are under way, and as many deliveries of a later claim wait for their turn.
func TestRetryAfterStopsWhatIsClaimedToo(t *testing.T) {
	const parallel = 8
	eachService(t, webhook.Options{Schedule: []time.Duration{0, 0, 0, 0}, Parallel: parallel, Timeout: 30 * time.Second}, func(s *service) {
		var requests atomic.Int64
		release := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if requests.Add(1) > parallel {
				<-release
				askForRest(w)
			}
		}))
		s.Cleanup(server.Close)
		s.create(webhook.Subscription{Name: "x", URL: server.URL, Topics: []string{"t"}})
		stop := s.relay()
		s.write("t", 10*parallel)
		s.until("all are owed", func() bool { return s.info("x").Pending == 10*parallel })
		stop()
		s.work()
		s.until("a later claim waits", func() bool {
			return requests.Load() == 2*parallel && s.info("x").Done == parallel &&
				s.number(`SELECT COUNT(*) FROM {webhook_deliveries} WHERE state = 0 AND claimed_by <> ''`) == 2*parallel
		})
		close(release)
		s.until("all are given back", func() bool {
			return !s.info("x").RestsUntil.IsZero() && s.number(`SELECT COUNT(*) FROM {webhook_deliveries} WHERE claimed_by <> ''`) == 0
		})
		if n := requests.Load(); n != 2*parallel {
			s.Errorf("%d requests, want %d: some were begun after it asked to be left alone", n, 2*parallel)
		}
	})
}

// Seven tries of a turn are done, and the eighth asks for a rest.
func TestRetryAfterIsKeptToBesideTriesThatAreDone(t *testing.T) {
	const parallel = 8
	eachService(t, webhook.Options{Schedule: []time.Duration{0, 0, 0, 0}, Parallel: parallel, Timeout: 30 * time.Second}, func(s *service) {
		var requests atomic.Int64
		all, others, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			switch n := requests.Add(1); {
			case n < parallel:
				<-all
			case n == parallel:
				close(all)
				<-others // a request that follows one of them says that its outcome is waiting to be recorded
				askForRest(w)
			case n == 2*parallel-1:
				close(others)
				fallthrough
			default:
				<-release
			}
		}))
		s.Cleanup(server.Close)
		s.create(webhook.Subscription{Name: "x", URL: server.URL, Topics: []string{"t"}})
		stop := s.relay()
		s.write("t", 10*parallel)
		s.until("all are owed", func() bool { return s.info("x").Pending == 10*parallel })
		stop()
		s.work()
		s.until("what was done is recorded", func() bool { return s.info("x").Done == parallel-1 })
		close(release)
		s.until("what was under way is done, and the rest given back", func() bool {
			return s.info("x").Done >= 2*parallel-2 && s.number(`SELECT COUNT(*) FROM {webhook_deliveries} WHERE claimed_by <> ''`) == 0
		})
		if i := s.info("x"); i.RestsUntil.IsZero() || i.Failures != 0 {
			s.Errorf("it rests until %v, with %d failures", i.RestsUntil, i.Failures)
		}
		if n := requests.Load(); n != 2*parallel-1 {
			s.Errorf("%d requests, want %d: some were begun after it asked to be left alone", n, 2*parallel-1)
		}
	})
}
