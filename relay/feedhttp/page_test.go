package feedhttp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/feedhttp"
)

func TestPagesLinkToTheNext(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		s := newSite(t, e, setup{})
		s.publish(numbered(1, 50)...)
		query, n := "?limit=7", 0
		for pages := 1; ; pages++ {
			a := s.do("GET", query)
			for _, e := range a.batch(t) {
				if n++; e.ID != fmt.Sprint(n) || e.Sequence != fmt.Sprintf("%019d", n) {
					t.Fatalf("got %+v, want number %d", e, n)
				}
			}
			link, ok := strings.CutSuffix(a.Header.Get("Link"), `>; rel="next"`)
			base := a.Request.URL
			next, err := base.Parse(strings.TrimPrefix(link, "<"))
			if !ok || err != nil || next.Path != "/events" || next.Query().Get("after") != a.Header.Get(feedhttp.NextHeader) {
				t.Fatalf("link %q, next %q", a.Header.Get("Link"), a.Header.Get(feedhttp.NextHeader))
			}
			if query == "?"+next.RawQuery {
				if pages != 9 {
					t.Errorf("%d pages, want 8 and one at the head", pages)
				}
				break
			}
			query = "?" + next.RawQuery
		}
		if n != 50 {
			t.Errorf("%d events, want 50", n)
		}
	})
}

func TestAnEventIsACloudEvent(t *testing.T) {
	s := onSQLite(t, setup{opts: feedhttp.Options{Extensions: map[string]string{"X Trace": "trace", "absent": "absent"}}})
	s.publish(outbox.Event{ID: "one", Topic: "orders.placed", Key: "<k>\n", Payload: []byte("{\n\t\"a\": \"b c\" }"),
		Headers: map[string]string{"Content-Type": "application/json; charset=utf-8", "X Trace": "abc"}})
	a := s.do("GET", "")
	got := a.batch(t)[0]
	published, err := time.Parse(time.RFC3339Nano, got.Time)
	if err != nil || time.Since(published).Abs() > time.Hour {
		t.Errorf("time %q: %v", got.Time, err)
	}
	if strings.Contains(string(a.body), "absent") || strings.Contains(string(a.body), "data_base64") {
		t.Errorf("it has what it should not: %s", a.body)
	}
	if data := string(got.Data); data != `{"a":"b c"}` {
		t.Errorf("data %s", data)
	}
	got.Time, got.Data = "", nil
	want := cloudEvent{SpecVersion: "1.0", ID: "one", Source: "https://shop.example/orders", Type: "orders.placed", Subject: "<k>\n",
		DataContentType: "application/json; charset=utf-8", Cursor: s.head().String(), Sequence: "0000000000000000001", Trace: "abc"}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTheEnvelopeHasTheSameEvents(t *testing.T) {
	s := onSQLite(t, setup{})
	s.publish(numbered(1, 3)...)
	a := s.do("GET", "", "Accept", "application/json")
	var envelope struct {
		Events []json.RawMessage
		Next   string
	}
	if err := json.Unmarshal(a.body, &envelope); err != nil || a.Header.Get("Content-Type") != "application/json" {
		t.Fatal(err, a.Header)
	}
	if len(envelope.Events) != 3 || envelope.Next != s.head().String() || envelope.Next != a.Header.Get(feedhttp.NextHeader) {
		t.Errorf("got %s", a.body)
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(s.do("GET", "").body, &batch); err != nil || fmt.Sprintf("%s", batch) != fmt.Sprintf("%s", envelope.Events) {
		t.Errorf("%v: the batch is %s", err, batch)
	}
	if a := s.do("GET", "?after=head", "Accept", "application/json"); string(a.body) != `{"events":[],"next":"`+s.head().String()+`"}` {
		t.Errorf("at the head: %s", a.body)
	}
}

func TestAFilteredPageMovesOn(t *testing.T) {
	s := onSQLite(t, setup{})
	s.publish(numbered(1, 30)...)
	a := s.do("GET", "?limit=2&topic=t1.*&topic=none%26&after=")
	if got := a.batch(t); len(got) != 2 || got[0].ID != "1" || got[1].ID != "4" {
		t.Errorf("got %+v", got)
	}
	next, err := url.Parse(strings.TrimSuffix(strings.TrimPrefix(a.Header.Get("Link"), "<"), `>; rel="next"`))
	if err != nil || fmt.Sprint(next.Query()["topic"]) != "[t1.* none&]" || next.Query().Get("limit") != "2" {
		t.Errorf("link %q", a.Header.Get("Link"))
	}
	a = s.do("GET", "?topic=none")
	if len(a.batch(t)) != 0 || a.Header.Get(feedhttp.NextHeader) != s.head().String() {
		t.Errorf("nothing matches, and next is %q", a.Header.Get(feedhttp.NextHeader))
	}
}

func TestAPageBeginsAtTheOldestOrTheHead(t *testing.T) {
	s := onSQLite(t, setup{})
	s.publish(numbered(1, 5)...)
	s.purgeAll()
	s.publish(numbered(6, 8)...)
	s.do("GET", "").problem(t, http.StatusGone, "gone")
	if got := s.do("GET", "?after=oldest").batch(t); len(got) != 3 || got[0].ID != "6" {
		t.Errorf("oldest: %+v", got)
	}
	if got := s.do("GET", "?after=head").batch(t); len(got) != 0 {
		t.Errorf("head: %+v", got)
	}
}

func TestPagesOfEverySize(t *testing.T) {
	s := onSQLite(t, setup{})
	big := []byte(strings.Repeat("\xff\x00ab", 9<<18)) // more than a page has, and no text
	s.publish(numbered(1, 600)...)
	s.publish(outbox.Event{ID: "big", Topic: "big", Payload: big}, outbox.Event{ID: "after", Topic: "t"})
	a := s.do("GET", "?limit=500")
	if got := a.batch(t); len(got) != 500 || got[499].ID != "500" {
		t.Errorf("%d events", len(got))
	}
	a = s.do("GET", "?limit=500&after="+a.Header.Get(feedhttp.NextHeader))
	if got := a.batch(t); len(got) != 100 {
		t.Errorf("%d events before the big one", len(got))
	}
	a = s.do("GET", "?after="+a.Header.Get(feedhttp.NextHeader))
	if got := a.batch(t); len(got) != 1 || string(got[0].Base64) != string(big) {
		t.Errorf("the big one: %d events", len(got))
	}
	a = s.do("GET", "?after="+a.Header.Get(feedhttp.NextHeader))
	if got := a.batch(t); len(got) != 1 || got[0].ID != "after" || got[0].Data != nil || got[0].Base64 != nil || got[0].DataContentType != "" {
		t.Errorf("behind it: %+v", got)
	}
}

func TestMethodsAndHeaders(t *testing.T) {
	s := onSQLite(t, setup{opts: feedhttp.Options{Authorize: func(r *http.Request) error {
		if r.Method == http.MethodOptions {
			t.Error("OPTIONS was asked about")
		}
		return nil
	}}})
	s.publish(numbered(1, 3)...)
	get, head := s.do("GET", ""), s.do("HEAD", "")
	for _, name := range []string{"Content-Type", "Link", feedhttp.NextHeader, "Cache-Control", "Vary", "X-Content-Type-Options"} {
		if g, h := get.Header.Get(name), head.Header.Get(name); g == "" || g != h {
			t.Errorf("%s: GET has %q, HEAD %q", name, g, h)
		}
	}
	if got := get.Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control %q", got)
	}
	if len(head.body) != 0 {
		t.Errorf("HEAD has a body")
	}
	if a := s.do("HEAD", "", "Accept", "text/event-stream"); a.StatusCode != 200 || a.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD of a stream: %s", a.Status)
	}
	if a := s.do("HEAD", "?after=x"); a.StatusCode != 400 || len(a.body) != 0 {
		t.Errorf("HEAD of a bad request: %s", a.Status)
	}
	if a := s.do("OPTIONS", ""); a.StatusCode != 204 || a.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("OPTIONS: %s %v", a.Status, a.Header)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "BREW"} {
		a := s.do(method, "")
		a.problem(t, http.StatusMethodNotAllowed, "method")
		if a.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("%s: Allow %q", method, a.Header.Get("Allow"))
		}
	}
}

func TestAPageComesThroughMiddlewareThatHidesDeadlines(t *testing.T) {
	s := onSQLite(t, setup{over: func(h http.Handler) http.Handler { return http.TimeoutHandler(h, time.Minute, "late") }})
	s.publish(numbered(1, 3)...)
	if got := s.do("GET", "").batch(t); len(got) != 3 {
		t.Errorf("%d events", len(got))
	}
	s.do("GET", "", "Accept", "text/event-stream").problem(t, http.StatusInternalServerError, "internal")
}
