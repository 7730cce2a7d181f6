package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

func TestWhileASecretRotatesBothSign(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		rec := s.receiver(nil)
		first := s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}})
		s.relay()
		s.work()
		send := func() (valid func(webhook.Secret) bool) {
			s.Helper()
			s.write("t", 1)
			s.until("it is there", func() bool { return len(rec.all()) == s.n })
			last := rec.all()[s.n-1]
			return func(k webhook.Secret) bool {
				_, err := webhook.Verify(last.header, []byte(last.body), k)
				return err == nil
			}
		}
		second, err := s.w.RotateSecret(s.Context(), "x", webhook.Secret{}, time.Hour)
		s.must(err)
		if valid := send(); !valid(first) || !valid(second) {
			s.Error("not both sign while the first is kept")
		}
		private := webhook.NewPrivateKey()
		_, err = s.w.RotateSecret(s.Context(), "x", private, 0)
		s.must(err)
		if valid := send(); valid(first) || valid(second) || !valid(private.Public()) {
			s.Error("not the last alone signs where nothing is kept")
		}
		if _, err := s.w.RotateSecret(s.Context(), "x", private.Public(), 0); !errors.Is(err, outbox.ErrInvalidOptions) {
			s.Errorf("a public key is taken: %v", err)
		}
		if _, err := s.w.RotateSecret(s.Context(), "y", webhook.Secret{}, 0); !errors.Is(err, webhook.ErrUnknownSubscription) {
			s.Error(err)
		}
	})
}

func TestSecretsAndHeadersAreNeitherListedNorLogged(t *testing.T) {
	var log bytes.Buffer
	eachService(t, webhook.Options{}, func(s *service) {
		s.opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		s.w = s.webhooks()
		rec := s.receiver(func(request) int { return 410 })
		secret := s.create(webhook.Subscription{Name: "x", URL: rec.URL, Topics: []string{"*"}, Headers: map[string]string{"X-Api-Key": "s3cr3t"}})
		s.relay()
		stop := s.work()
		s.write("t", 1)
		s.until("it is disabled", func() bool { return s.info("x").State == webhook.Disabled })
		stop()
		fmt.Fprintf(&log, "%+v %+v", s.info("x"), s.deliveries("x", webhook.Dead))
		if i := s.info("x"); !slices.Equal(i.HeaderNames, []string{"X-Api-Key"}) {
			s.Errorf("header names %v", i.HeaderNames)
		}
		if !strings.Contains(log.String(), "level=") {
			s.Error("nothing was logged")
		}
		for _, bad := range []string{secret.Reveal(), secret.Reveal()[6:], "s3cr3t"} {
			if strings.Contains(log.String(), bad) {
				s.Errorf("%q is shown", bad)
			}
		}
	})
}

func TestASubscriptionIsUpdatedAndDeleted(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		first, second := s.receiver(nil), s.receiver(nil)
		sub := webhook.Subscription{Name: "x", URL: first.URL, Topics: []string{"a"}, Headers: map[string]string{"X-Keep": "1"}}
		s.create(sub)
		if _, err := s.w.Create(s.Context(), sub); !errors.Is(err, webhook.ErrExists) {
			s.Errorf("created twice: %v", err)
		}
		s.relay()
		s.work()
		s.write("a", 1)
		s.write("b", 1)
		s.until("it has the first", func() bool { return s.info("x").Done == 1 })
		s.must(s.w.Update(s.Context(), webhook.Subscription{Name: "x", URL: second.URL, Topics: []string{"b"}, Ordered: true}))
		s.write("a", 1)
		s.write("b", 1)
		s.until("it has the last", func() bool { return s.info("x").Done == 2 })
		if got := second.all(); len(got) != 1 || got[0].body != "3" || got[0].header.Get("X-Keep") != "1" || len(first.all()) != 1 {
			s.Errorf("got %v and %v", first.bodies(), second.bodies())
		}
		s.must(s.w.Delete(s.Context(), "x"))
		if n := s.number(`SELECT COUNT(*) FROM {webhook_deliveries}`) + s.number(`SELECT COUNT(*) FROM {subscriptions}`); n != 0 {
			s.Errorf("%d rows are left", n)
		}
		for what, err := range map[string]error{
			"delete": s.w.Delete(s.Context(), "x"),
			"pause":  s.w.Pause(s.Context(), "x"),
			"resume": s.w.Resume(s.Context(), "x"),
			"update": s.w.Update(s.Context(), sub),
		} {
			if !errors.Is(err, webhook.ErrUnknownSubscription) {
				s.Errorf("%s what is gone: %v", what, err)
			}
		}
		s.create(sub) // the name is free again
	})
}

func TestWhatADeleteHasLeftIsSwept(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		s.create(webhook.Subscription{Name: "x", URL: "http://127.0.0.1:1", Topics: []string{"*"}})
		s.relay()
		s.write("t", 600)
		s.until("they are published", func() bool { return s.info("x").Pending == 600 })
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		if err := s.w.Delete(ctx, "x"); err == nil {
			s.Error("deleted without a database")
		}
		s.exec(`UPDATE {subscriptions} SET state = 3`) // as a process that was killed would leave it
		_, err := s.w.Sweep(s.Context())
		s.must(err)
		if n := s.number(`SELECT COUNT(*) FROM {webhook_deliveries}`) + s.number(`SELECT COUNT(*) FROM {subscriptions}`); n != 0 {
			s.Errorf("%d rows are left", n)
		}
	})
}

func TestWhatIsOldIsSwept(t *testing.T) {
	eachService(t, webhook.Options{Retention: time.Hour, DeadRetention: 2 * time.Hour, PausedHold: 3 * time.Hour}, func(s *service) {
		s.create(webhook.Subscription{Name: "x", URL: "http://127.0.0.1:1", Topics: []string{"*"}})
		s.relay()
		s.write("t", 6)
		s.until("they are published", func() bool { return s.info("x").Pending == 6 })
		hour := time.Hour.Milliseconds()
		for n, c := range []struct{ state, age int64 }{{1, 0}, {1, 2}, {2, 1}, {2, 3}, {0, 9}, {0, 0}} {
			s.exec(`UPDATE {webhook_deliveries} SET state = ?, due_ms = due_ms - ? WHERE feed_seq = ?`, c.state, c.age*hour, int64(n+1))
		}
		sweep := func(what string, pending, done, dead int64) {
			s.Helper()
			_, err := s.w.Sweep(s.Context())
			s.must(err)
			if i := s.info("x"); i.Pending != pending || i.Done != done || i.Dead != dead {
				s.Errorf("%s: %+v", what, i)
			}
		}
		sweep("active", 2, 1, 1)
		s.must(s.w.Pause(s.Context(), "x"))
		sweep("paused", 2, 1, 1)
		s.exec(`UPDATE {subscriptions} SET since_ms = since_ms - ?`, 4*hour)
		sweep("paused for too long", 0, 1, 3)
	})
}

func TestWhatIsNoSubscriptionIsRefused(t *testing.T) {
	eachService(t, webhook.Options{}, func(s *service) {
		good := func() webhook.Subscription {
			return webhook.Subscription{Name: "x", URL: "https://example.com/", Topics: []string{"*"}}
		}
		for what, change := range map[string]func(*webhook.Subscription){
			"no name":          func(x *webhook.Subscription) { x.Name = "" },
			"a long name":      func(x *webhook.Subscription) { x.Name = strings.Repeat("x", webhook.MaxName+1) },
			"a NUL":            func(x *webhook.Subscription) { x.Name = "a\x00" },
			"no text":          func(x *webhook.Subscription) { x.Name = "\xff" },
			"no URL":           func(x *webhook.Subscription) { x.URL = "" },
			"metadata":         func(x *webhook.Subscription) { x.URL = "http://169.254.169.254/" },
			"no topic":         func(x *webhook.Subscription) { x.Topics = nil },
			"a bad pattern":    func(x *webhook.Subscription) { x.Topics = []string{"a*b"} },
			"many topics":      func(x *webhook.Subscription) { x.Topics = make([]string, 101) },
			"Host":             func(x *webhook.Subscription) { x.Headers = map[string]string{"host": "x"} },
			"Content-Length":   func(x *webhook.Subscription) { x.Headers = map[string]string{"content-length": "1"} },
			"the standard's":   func(x *webhook.Subscription) { x.Headers = map[string]string{"webhook-signature": "x"} },
			"a line break":     func(x *webhook.Subscription) { x.Headers = map[string]string{"X-A": "a\r\nX-B: b"} },
			"no header name":   func(x *webhook.Subscription) { x.Headers = map[string]string{"a b": "x"} },
			"a header twice":   func(x *webhook.Subscription) { x.Headers = map[string]string{"x-a": "1", "X-A": "2"} },
			"too many headers": func(x *webhook.Subscription) { x.Headers = map[string]string{"X-A": strings.Repeat("x", 9000)} },
		} {
			x := good()
			change(&x)
			if _, err := s.w.Create(s.Context(), x); !errors.Is(err, outbox.ErrInvalidOptions) {
				s.Errorf("%s: %v", what, err)
			}
		}
		if _, err := s.w.Create(s.Context(), good(), webhook.NewPrivateKey().Public()); !errors.Is(err, outbox.ErrInvalidOptions) {
			s.Errorf("a public key: %v", err)
		}
		s.create(good())
		x, secret := good(), webhook.NewPrivateKey()
		x.Name = "y"
		if got, err := s.w.Create(s.Context(), x, secret, webhook.NewSecret()); err != nil || got != secret {
			s.Errorf("with secrets of its own: %v", err)
		}
	})
}
