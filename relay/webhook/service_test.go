package webhook_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/rows"
	"github.com/sqloutbox/sqloutbox/internal/sqltext"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// service is a host with an outbox that has a feed, a relay and webhooks.
type service struct {
	testing.TB
	db   *sql.DB
	d    dialect.Dialect
	sql  *sqltext.Renderer
	o    *outbox.Outbox
	w    *webhook.Webhooks
	opts webhook.Options
	n    int // events written
}

// eachService runs fn on every engine. Nothing runs yet but what fn starts.
func eachService(t *testing.T, opts webhook.Options, fn func(s *service)) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) { fn(newService(t, e, opts)) })
}

func newService(t testing.TB, e *engines.Engine, opts webhook.Options) *service {
	t.Helper()
	s := &service{TB: t}
	s.db, s.d = e.Migrated(t)
	s.sql = sqltext.New(s.d, "", sqltext.DefaultPrefix)
	var err error
	if s.o, err = outbox.New(s.db, s.d, &outbox.Options{Feed: true}); err != nil {
		t.Fatal(err)
	}
	opts.AllowHTTP, opts.AllowPrivate = true, true
	if opts.Poll == 0 {
		opts.Poll = 20 * time.Millisecond
	}
	opts.Logger = slog.New(slog.NewTextHandler(testWriter{t}, nil))
	s.opts = opts
	s.w = s.webhooks()
	return s
}

func (s *service) webhooks() *webhook.Webhooks {
	s.Helper()
	w, err := webhook.New(s.o, &s.opts)
	if err != nil {
		s.Fatal(err)
	}
	return w
}

// relay runs a relay until the test ends, or stop is called.
func (s *service) relay() (stop func()) {
	s.Helper()
	r, err := relay.New(s.o, relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }), &relay.Options{
		Order: relay.OrderTotal, Poll: 20 * time.Millisecond, Retention: time.Hour, Observers: []relay.Observer{s.w},
	})
	if err != nil {
		s.Fatal(err)
	}
	return s.background(r.Run)
}

// work runs the workers until the test ends, or stop is called.
func (s *service) work() (stop func()) { return s.background(s.w.Run) }

func (s *service) background(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := run(ctx); err != nil && ctx.Err() == nil {
			s.Error(err)
		}
	}()
	stop = func() { cancel(); <-over }
	s.Cleanup(stop)
	return stop
}

// write writes n events of a topic, each with its number as payload, and answers their ids.
func (s *service) write(topic string, n int) (ids []string) {
	s.Helper()
	err := s.o.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) error {
		events := make([]outbox.Event, n)
		for i := range events {
			events[i] = outbox.Event{Topic: topic, Key: "k", Payload: []byte(strconv.Itoa(s.n + i))}
		}
		var err error
		ids, err = s.o.Write(ctx, tx, events...)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	s.n += n
	return ids
}

func (s *service) create(sub webhook.Subscription) webhook.Secret {
	s.Helper()
	secret, err := s.w.Create(s.Context(), sub)
	if err != nil {
		s.Fatal(err)
	}
	return secret
}

func (s *service) info(name string) webhook.Info {
	s.Helper()
	i, err := s.w.Subscription(s.Context(), name)
	if err != nil {
		s.Fatal(err)
	}
	return i
}

func (s *service) deliveries(name string, state webhook.DeliveryState) []webhook.Delivery {
	s.Helper()
	all, err := s.w.Deliveries(s.Context(), name, webhook.DeliveryQuery{State: state, Limit: 1000})
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// must fails the test on an error.
func (s *service) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *service) exec(text string, args ...any) {
	s.Helper()
	if _, err := s.db.ExecContext(s.Context(), s.sql.SQL(text), args...); err != nil {
		s.Fatal(err)
	}
}

func (s *service) number(text string, args ...any) (n int64) {
	s.Helper()
	if err := rows.One(s.Context(), s.db, s.sql.SQL(text), args, &n); err != nil {
		s.Fatal(err)
	}
	return n
}

// patience bounds waits; it is for what never comes.
const patience = 60 * time.Second

// until waits for a condition.
func (s *service) until(what string, condition func() bool) {
	s.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.Fatalf("in vain: %s", what)
		}
	}
}

// receiver is an endpoint that keeps what it gets.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex // guards what is below
	got    []request
	answer func(r request) int // status; nil: 200
}

type request struct {
	id, body string
	n        int // of this id, from 1
	header   http.Header
}

func (s *service) receiver(answer func(r request) int) *receiver {
	s.Helper()
	rec := &receiver{answer: answer}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if status := rec.add(r.Header, string(body)); status != http.StatusOK {
			w.WriteHeader(status)
			fmt.Fprint(w, "no")
		}
	}))
	s.Cleanup(rec.Close)
	return rec
}

func (r *receiver) add(h http.Header, body string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := request{id: h.Get("webhook-id"), body: body, n: 1, header: h}
	for _, before := range r.got {
		if before.id == q.id {
			q.n++
		}
	}
	r.got = append(r.got, q)
	if r.answer == nil {
		return http.StatusOK
	}
	return r.answer(q)
}

func (r *receiver) all() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *receiver) set(answer func(request) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) bodies() (out []string) {
	for _, q := range r.all() {
		out = append(out, q.body)
	}
	return out
}

func numbers(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, strconv.Itoa(i))
	}
	return out
}

// testWriter is a log that is silent once the test has ended.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	if w.t.Context().Err() == nil {
		w.t.Log(strings.TrimSpace(string(p)))
	}
	return len(p), nil
}
