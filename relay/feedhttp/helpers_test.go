package feedhttp_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect"
	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/feedhttp"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// site is an outbox whose feed is served on loopback.
type site struct {
	*httptest.Server
	t   *testing.T
	db  *sql.DB
	d   dialect.Dialect
	box *outbox.Outbox // that writes and publishes
	h   *feedhttp.Handler
}

// setup is how a test's site differs from others.
type setup struct {
	opts   feedhttp.Options
	box    outbox.Options // of the outbox that is served
	hooks  hookdb.Hooks   // for what the handler asks of the database
	server func(*httptest.Server)
	over   func(http.Handler) http.Handler
}

// onSQLite is for what HTTP does with a feed, which is the same whatever the feed is read from.
func onSQLite(t *testing.T, s setup) *site {
	t.Helper()
	return newSite(t, engines.Get(t, "sqlite"), s)
}

func newSite(t *testing.T, e *engines.Engine, s setup) *site {
	t.Helper()
	db, d := e.Migrated(t)
	served := hookdb.Open(db, s.hooks)
	t.Cleanup(func() { _ = served.Close() })
	if s.box.FeedPoll == 0 {
		s.box.FeedPoll = 10 * time.Millisecond
	}
	s.box.Feed = true
	reader, err := outbox.New(served, d, &s.box)
	if err != nil {
		t.Fatal(err)
	}
	box, err := outbox.New(db, d, &outbox.Options{Feed: true, MaxPayload: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if s.opts.Authorize == nil {
		s.opts.Authorize = feedhttp.AllowAll
	}
	s.opts.Source = "https://shop.example/orders"
	h, err := feedhttp.New(reader.Feed(), &s.opts)
	if err != nil {
		t.Fatal(err)
	}
	handler := http.Handler(h)
	if s.over != nil {
		handler = s.over(handler)
	}
	mux := http.NewServeMux()
	mux.Handle("/events", handler)
	srv := httptest.NewUnstartedServer(mux)
	if s.server != nil {
		s.server(srv)
	}
	if srv.TLS == nil && !srv.EnableHTTP2 {
		srv.Start()
	} else {
		srv.StartTLS()
	}
	t.Cleanup(srv.Close)
	t.Cleanup(h.EndStreams) // or Close would wait for them
	return &site{srv, t, db, d, box, h}
}

// publish writes events and has them published into the feed.
func (s *site) publish(events ...outbox.Event) {
	s.t.Helper()
	s.publishOn(s.box, events...)
}

func (s *site) publishOn(box *outbox.Outbox, events ...outbox.Event) {
	s.t.Helper()
	err := box.InTx(s.t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := box.Write(ctx, tx, events...)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := relay.New(box, relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }),
		&relay.Options{Order: relay.OrderTotal, Retention: time.Hour, Batch: 100})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := r.Drain(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// numbered are events "1" to "n" in three topics.
func numbered(from, to int) (all []outbox.Event) {
	for i := from; i <= to; i++ {
		all = append(all, outbox.Event{ID: fmt.Sprint(i), Topic: fmt.Sprintf("t%d.x", i%3), Key: "k", Payload: []byte(`{"n": 1}`)})
	}
	return all
}

// purgeAll purges what was published.
func (s *site) purgeAll() {
	s.t.Helper()
	for {
		if _, err := s.box.Purge(s.t.Context(), outbox.PurgeOptions{Published: time.Millisecond}); err != nil {
			s.t.Fatal(err)
		}
		oldest, err := s.box.Feed().Oldest(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if oldest == s.head() {
			return
		}
	}
}

func (s *site) head() outbox.Cursor {
	s.t.Helper()
	c, err := s.box.Feed().Head(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// answer is a response that was read to its end.
type answer struct {
	*http.Response
	body []byte
}

func (s *site) do(method, query string, headers ...string) answer {
	s.t.Helper()
	res := s.open(s.t.Context(), method, query, headers...)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{res, body}
}

func (s *site) open(ctx context.Context, method, query string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.URL+"/events"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := s.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return res
}

// cloudEvent is what these tests look at of one.
type cloudEvent struct {
	SpecVersion, ID, Source, Type, Subject, Time, DataContentType, Cursor, Sequence string
	Trace                                                                           string
	Data                                                                            json.RawMessage
	Base64                                                                          []byte `json:"data_base64"`
}

func (a answer) batch(t *testing.T) (events []cloudEvent) {
	t.Helper()
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "application/cloudevents-batch+json" {
		t.Fatalf("%s, %s: %.300s", a.Status, a.Header.Get("Content-Type"), a.body)
	}
	if err := json.Unmarshal(a.body, &events); err != nil {
		t.Fatalf("%v: %.300s", err, a.body)
	}
	return events
}

type problem struct {
	Title, Code, Detail, Oldest, Head string
	Status                            int
}

func (a answer) problem(t *testing.T, status int, code string) (p problem) {
	t.Helper()
	if err := json.Unmarshal(a.body, &p); err != nil || a.Header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("%v, %s, %s: %.300s", err, a.Status, a.Header.Get("Content-Type"), a.body)
	}
	if a.StatusCode != status || p.Status != status || p.Code != code || p.Title != http.StatusText(status) || p.Detail == "" {
		t.Errorf("got %s, %+v; want %d %s", a.Status, p, status, code)
	}
	return p
}

// eventually waits for a condition.
func (s *site) eventually(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: it did not come to that", what)
		}
	}
}
