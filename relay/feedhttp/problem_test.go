package feedhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/feedhttp"
)

func TestPositionsThatCanNotBeReadFrom(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		var away atomic.Bool
		s := newSite(t, e, setup{hooks: hookdb.Hooks{Before: func(string) error {
			if away.Load() {
				return hookdb.ErrCut
			}
			return nil
		}}})
		for _, accept := range []string{"*/*", "text/event-stream"} {
			s.do("GET", "", "Accept", accept).problem(t, http.StatusNotFound, "no-feed")
		}
		s.publish(numbered(1, 5)...)
		before := s.head()
		s.purgeAll()
		s.publish(numbered(6, 7)...)
		for _, accept := range []string{"*/*", "text/event-stream"} {
			for seq := range int64(5) {
				p := s.do("GET", fmt.Sprintf("?after=%d-%d", before.Epoch, seq), "Accept", accept).problem(t, http.StatusGone, "gone")
				if p.Oldest != before.String() {
					t.Errorf("the oldest is %q, want %v", p.Oldest, before)
				}
			}
			p := s.do("GET", fmt.Sprintf("?after=%d-8", before.Epoch), "Accept", accept).problem(t, http.StatusBadRequest, "ahead")
			if p.Head != s.head().String() {
				t.Errorf("the head is %q", p.Head)
			}
			p = s.do("GET", fmt.Sprintf("?after=%d-6", before.Epoch+1), "Accept", accept).problem(t, http.StatusConflict, "epoch")
			if p.Head != s.head().String() || p.Oldest != before.String() {
				t.Errorf("the feed goes from %q to %q", p.Oldest, p.Head)
			}
		}
		away.Store(true)
		for _, query := range []string{"?after=" + before.String(), "?after=head", "?after=oldest"} {
			a := s.do("GET", query)
			a.problem(t, http.StatusServiceUnavailable, "away")
			if a.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		}
		away.Store(false)
		if got := s.do("GET", "?after="+before.String()).batch(t); len(got) != 2 {
			t.Errorf("when it is back: %+v", got)
		}
	})
}

func TestBadRequestsSayWhatToDo(t *testing.T) {
	s := onSQLite(t, setup{opts: feedhttp.Options{MaxPage: 50, IgnoreParams: []string{"access_token"}}})
	s.publish(numbered(1, 3)...)
	for query, code := range map[string]string{
		"?after=x":                             "cursor",
		"?after=1-1-1":                         "cursor",
		"?after=1-%00":                         "cursor",
		"?after=-1--1":                         "cursor",
		"?after=1-1&after=1-1":                 "parameter",
		"?limit=0":                             "limit",
		"?limit=":                              "limit",
		"?limit=51":                            "limit",
		"?limit=-1":                            "limit",
		"?limit=1e1":                           "limit",
		"?limit=99999999999999999999999":       "limit",
		"?limit=1&limit=2":                     "parameter",
		"?topic=":                              "topic",
		"?topic=a*":                            "topic",
		"?topic=%ff":                           "topic",
		"?topic=a%00":                          "topic",
		"?topic=" + strings.Repeat("a", 300):   "topic",
		"?x" + strings.Repeat("&topic=a", 101): "parameter",
		"?topic=a" + strings.Repeat("&topic=a", 100): "topic",
		"?topics=a":       "parameter",
		"?a;b":            "query",
		"?topic=%zz":      "query",
		"?%27%20OR%201=1": "parameter",
	} {
		p := s.do("GET", query).problem(t, http.StatusBadRequest, code)
		for _, leak := range []string{"SELECT", "outbox_", "strconv", "invalid options"} {
			if strings.Contains(p.Detail, leak) {
				t.Errorf("%s: %s", query, p.Detail)
			}
		}
	}
	s.do("GET", "?limit=1", "Accept", "text/event-stream").problem(t, http.StatusBadRequest, "limit")
	s.do("GET", "", "Accept", "text/event-stream", "Last-Event-ID", "x").problem(t, http.StatusBadRequest, "cursor")
	s.do("GET", "", "Accept", "text/html").problem(t, http.StatusNotAcceptable, "accept")
	a := s.do("GET", "?access_token=secret&limit=50", "Last-Event-ID", "not looked at")
	if got := a.batch(t); len(got) != 3 || strings.Contains(a.Header.Get("Link"), "secret") {
		t.Errorf("%d events, link %q", len(got), a.Header.Get("Link"))
	}
}

func TestFailuresDoNotSayWhatTheDatabaseSaid(t *testing.T) {
	s := onSQLite(t, setup{hooks: hookdb.Hooks{Before: func(query string) error {
		return errors.New("syntax error in " + query)
	}}})
	a := s.do("GET", "")
	a.problem(t, http.StatusInternalServerError, "internal")
	if strings.Contains(string(a.body), "syntax") || strings.Contains(string(a.body), "SELECT") {
		t.Errorf("it says %s", a.body)
	}
}

// A database that hangs, and a pool that is taken, are both away.
func TestAReadThatTakesTooLongIsAnswered(t *testing.T) {
	hang := make(chan struct{})
	reading := make(chan struct{}, 1)
	var hung atomic.Bool
	s := onSQLite(t, setup{
		opts: feedhttp.Options{MaxReads: 1, ReadTimeout: 50 * time.Millisecond},
		hooks: hookdb.Hooks{Before: func(string) error {
			if hung.Swap(true) {
				return nil
			}
			reading <- struct{}{}
			<-hang
			return context.DeadlineExceeded // as a driver answers
		}},
	})
	first := make(chan answer)
	go func() { first <- s.do("GET", "") }()
	<-reading
	s.do("GET", "").problem(t, http.StatusServiceUnavailable, "away") // it waits for a place
	close(hang)
	(<-first).problem(t, http.StatusServiceUnavailable, "away")
	s.publish(numbered(1, 1)...)
	s.eventually("a read is answered", func() bool { return s.do("GET", "").StatusCode == http.StatusOK })
}

func TestOnlyWhoIsAuthorisedReads(t *testing.T) {
	s := onSQLite(t, setup{opts: feedhttp.Options{Challenge: `Bearer realm="shop"`, Authorize: func(r *http.Request) error {
		switch r.Header.Get("Authorization") {
		case "Bearer mine":
			return nil
		case "Bearer other":
			return errors.New("secret reason")
		}
		return fmt.Errorf("no token: %w", feedhttp.ErrUnauthenticated)
	}}})
	s.publish(numbered(1, 3)...)
	for _, accept := range []string{"*/*", "text/event-stream", "text/html"} { // before anything else is looked at
		for _, method := range []string{"GET", "HEAD"} {
			a := s.do(method, "?after=bad", "Accept", accept)
			if a.StatusCode != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") != `Bearer realm="shop"` || a.Header.Get(feedhttp.NextHeader) != "" {
				t.Errorf("%s %s: %s %v", method, accept, a.Status, a.Header)
			}
		}
		a := s.do("GET", "", "Accept", accept, "Authorization", "Bearer other")
		a.problem(t, http.StatusForbidden, "forbidden")
		if strings.Contains(string(a.body), "secret") {
			t.Errorf("it says %s", a.body)
		}
	}
	if got := s.do("GET", "", "Authorization", "Bearer mine").batch(t); len(got) != 3 {
		t.Errorf("%d events", len(got))
	}
}

func TestNewRefuses(t *testing.T) {
	s := onSQLite(t, setup{})
	f := s.box.Feed()
	good := func() *feedhttp.Options {
		return &feedhttp.Options{Authorize: feedhttp.AllowAll, Source: "urn:x", Extensions: map[string]string{"a": "a"}, IgnoreParams: []string{"x"}}
	}
	if _, err := feedhttp.New(f, good()); err != nil {
		t.Fatal(err)
	}
	bad := func(what string, change func(o *feedhttp.Options)) {
		o := good()
		change(o)
		if _, err := feedhttp.New(f, o); !errors.Is(err, feedhttp.ErrInvalidOptions) || !errors.Is(err, outbox.ErrInvalidOptions) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	bad("Authorize", func(o *feedhttp.Options) { o.Authorize = nil })
	bad("Authorize", func(o *feedhttp.Options) { *o = feedhttp.Options{} })
	bad("Source", func(o *feedhttp.Options) { o.Source = "" })
	bad("Source", func(o *feedhttp.Options) { o.Source = "http://a b\x7f" })
	bad("MaxPage", func(o *feedhttp.Options) { o.MaxPage = 501 })
	bad("MaxPage", func(o *feedhttp.Options) { o.MaxPage = -1 })
	bad("MaxStreams", func(o *feedhttp.Options) { o.MaxStreams = -1 })
	bad("MaxReads", func(o *feedhttp.Options) { o.MaxReads = -1 })
	bad("Heartbeat", func(o *feedhttp.Options) { o.Heartbeat = -1 })
	bad("WriteTimeout", func(o *feedhttp.Options) { o.WriteTimeout = -1 })
	bad("ReadTimeout", func(o *feedhttp.Options) { o.ReadTimeout = -1 })
	bad("MaxAge", func(o *feedhttp.Options) { o.MaxAge = -1 })
	bad("IgnoreParams", func(o *feedhttp.Options) { o.IgnoreParams = []string{"topic"} })
	for _, name := range []string{"", "A", "data_base64", "id", "cursor", "data", strings.Repeat("a", 21)} {
		bad("Extensions", func(o *feedhttp.Options) { o.Extensions["b"] = name })
	}
	bad("Extensions", func(o *feedhttp.Options) { o.Extensions["b"] = "a" })
	if _, err := feedhttp.New(nil, good()); !errors.Is(err, feedhttp.ErrInvalidOptions) {
		t.Errorf("no feed: %v", err)
	}
	if _, err := feedhttp.New(f, nil); !errors.Is(err, feedhttp.ErrInvalidOptions) {
		t.Errorf("no options: %v", err)
	}
}
