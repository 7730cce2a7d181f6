package webhook_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// hooked are webhooks of another process, with hooks at its driver.
func (s *service) hooked(hooks hookdb.Hooks) *webhook.Webhooks {
	s.Helper()
	db := hookdb.Open(s.db, hooks)
	s.Cleanup(func() { db.Close() })
	o, err := outbox.New(db, s.d, &outbox.Options{Feed: true})
	s.must(err)
	w, err := webhook.New(o, &s.opts)
	s.must(err)
	return w
}

// writeLong publishes events with payloads that are read when they are sent, and ends with the relay stopped.
func (s *service) writeLong(n int) {
	s.Helper()
	stop := s.relay()
	defer stop()
	before := s.number(`SELECT COUNT(*) FROM {feed}`)
	s.must(s.o.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) error {
		for range n {
			if _, err := s.o.Write(ctx, tx, outbox.Event{Topic: "t", Payload: make([]byte, 20<<10)}); err != nil {
				return err
			}
		}
		return nil
	}))
	s.until("they are published", func() bool { return s.number(`SELECT COUNT(*) FROM {feed}`) == before+int64(n) })
}

func steady(n int, d time.Duration) (out []time.Duration) {
	for range n {
		out = append(out, d)
	}
	return out
}

// Disabling is a transaction of its own: what was true in the one before it may be so no more.
func TestATryThatIsDoneMeanwhileKeepsASubscriptionActive(t *testing.T) {
	opts := webhook.Options{DisableAfter: 300 * time.Millisecond, Schedule: steady(500, 10*time.Millisecond), Careful: time.Millisecond}
	for _, name := range []string{"postgres", "mysql", "mariadb"} { // the hook would hold SQLite's one writer
		t.Run(name, func(t *testing.T) {
			s := newService(t, engines.One(t, name), opts)
			var ok atomic.Bool
			rec := s.receiver(func(request) int {
				if ok.Load() {
					return 200
				}
				return 500
			})
			s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"t"}})
			s.relay()
			blocked, open := make(chan struct{}), make(chan struct{})
			var once, tried sync.Once
			again := make(chan struct{})
			w := s.hooked(hookdb.Hooks{Before: func(q string) error {
				if strings.Contains(q, "name = 'feed'") && strings.HasPrefix(q, "SELECT value") {
					once.Do(func() { close(blocked) })
					<-open
				}
				return nil
			}, After: func(q string) error {
				if strings.HasPrefix(q, "SELECT name, failing_ms") {
					tried.Do(func() { close(again) })
				}
				return nil
			}})
			s.background(w.Run)
			s.write("t", 12)
			<-blocked
			ok.Store(true)
			s.work()
			s.until("it works again", func() bool { return s.info("x").Done > 3 && s.info("x").FailingSince.IsZero() })
			close(open)
			<-again
			s.until("all are done", func() bool { return s.info("x").Done == 12 })
			if i := s.info("x"); i.State != webhook.Active {
				s.Errorf("%+v", i)
			}
		})
	}
}

func TestAnotherURLHasNotFailedYet(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		sub := webhook.Subscription{Name: "x", URL: "http://127.0.0.1:1/a", Topics: []string{"*"}}
		s.create(sub)
		s.exec(`UPDATE {subscriptions} SET failing_ms = 5, failures = 20, rest_ms = 7`)
		sub.Ordered = true
		s.must(s.w.Update(s.Context(), sub))
		if i := s.info("x"); i.Failures != 20 || i.FailingSince.IsZero() || i.RestsUntil.IsZero() {
			s.Errorf("another order, and the same URL: %+v", i)
		}
		sub.URL += "b"
		s.must(s.w.Update(s.Context(), sub))
		if i := s.info("x"); i.Failures != 0 || !i.FailingSince.IsZero() || !i.RestsUntil.IsZero() || i.URL != sub.URL {
			s.Errorf("another URL: %+v", i)
		}
	})
}

func TestALateRestIsNotTheNewURLs(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		entered, open := make(chan struct{}), make(chan struct{})
		old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			entered <- struct{}{}
			<-open
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		s.Cleanup(old.Close)
		fresh := s.receiver(nil)
		s.create(webhook.Subscription{Name: "x", URL: old.URL, Topics: []string{"*"}})
		s.relay()
		s.work()
		s.write("t", 1)
		<-entered
		s.must(s.w.Update(s.Context(), webhook.Subscription{Name: "x", URL: fresh.URL, Topics: []string{"*"}}))
		close(open)
		s.until("the late one is recorded", func() bool { return s.number(`SELECT MAX(attempts) FROM {webhook_deliveries}`) == 1 })
		s.write("t", 3)
		s.until("the new URL has what is new", func() bool { return s.info("x").Done == 3 })
		if i := s.info("x"); !i.RestsUntil.IsZero() || i.Failures != 0 {
			s.Errorf("%+v", i)
		}
	})
}

func TestAPayloadThatCantBeReadIsTriedWithPauses(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		rec := s.receiver(nil)
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}, Ordered: true})
		s.writeLong(2)
		var tries atomic.Int64
		var well atomic.Bool
		w := s.hooked(hookdb.Hooks{Before: func(q string) error {
			if strings.HasPrefix(q, "SELECT payload FROM") && !well.Load() {
				tries.Add(1)
				return errors.New("too large a packet")
			}
			return nil
		}})
		s.background(w.Run)
		s.until("it is tried", func() bool { return tries.Load() > 0 })
		time.Sleep(time.Second) // in which nothing is to happen
		if n := tries.Load(); n != 1 || len(rec.all()) != 0 {
			s.Errorf("%d tries in a second, %d requests", n, len(rec.all()))
		}
		well.Store(true)
		s.until("both are done", func() bool { return s.info("x").Done == 2 })
		if i := s.info("x"); i.Failures != 0 {
			s.Errorf("the endpoint is charged: %+v", i)
		}
	})
}

func TestWorkersReadFewPayloadsAtOnce(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		rec := s.receiver(nil)
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}})
		s.writeLong(30)
		var at, most atomic.Int64
		w := s.hooked(hookdb.Hooks{Before: func(q string) error {
			if strings.HasPrefix(q, "SELECT payload FROM") {
				n := at.Add(1)
				defer at.Add(-1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				time.Sleep(20 * time.Millisecond) // so that they meet
			}
			return nil
		}})
		s.background(w.Run)
		s.until("all are done", func() bool { return s.info("x").Done == 30 })
		if n := most.Load(); n > 2 {
			s.Errorf("%d at once", n)
		}
	})
}

func TestNoMoreSecretsSignThanVerifyTakes(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		rec := s.receiver(nil)
		s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}})
		rotate := func(keep time.Duration) (webhook.Secret, error) {
			return s.w.RotateSecret(s.Context(), "x", webhook.Secret{}, keep)
		}
		var last webhook.Secret
		for range webhook.MaxSecrets - 1 {
			var err error
			last, err = rotate(time.Hour)
			s.must(err)
		}
		if _, err := rotate(time.Hour); !errors.Is(err, outbox.ErrInvalidOptions) {
			s.Errorf("one more: %v", err)
		}
		s.relay()
		s.work()
		s.write("t", 1)
		s.until("it is sent", func() bool { return len(rec.all()) == 1 })
		if _, err := webhook.Verify(rec.all()[0].header, []byte("0"), last); err != nil {
			s.Error(err)
		}
		_, err := rotate(0)
		s.must(err)
		_, err = rotate(time.Hour) // all others have run out
		s.must(err)
		var many []webhook.Secret
		for range webhook.MaxSecrets + 1 {
			many = append(many, webhook.NewSecret())
		}
		_, err = s.w.Create(s.Context(), webhook.Subscription{Name: "y", URL: rec.URL, Topics: []string{"*"}}, many...)
		if !errors.Is(err, outbox.ErrInvalidOptions) {
			s.Errorf("created with too many: %v", err)
		}
	})
}
