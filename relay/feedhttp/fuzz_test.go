package feedhttp

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/dialect/sqlite"
	"github.com/sqloutbox/sqloutbox/internal/topics"
	"github.com/sqloutbox/sqloutbox/outbox"
)

// offline is a handler that never gets as far as its database.
func offline(t testing.TB) *Handler {
	t.Helper()
	box, err := outbox.New(new(sql.DB), sqlite.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(box.Feed(), &Options{Authorize: AllowAll, Source: "/shop", Extensions: map[string]string{"trace": "trace"}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// What is wanted must have been named, or be taken by a wildcard.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"", "*/*", "application/json;q=0.5, text/*", `a/b;x="\",*/*,", application/json`, "*/*;q=0", ";,\"", "text/event-stream;q=1.0001"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		got, ok := negotiate([]string{accept})
		if !ok {
			if got != "" {
				t.Errorf("%q and refused", got)
			}
			return
		}
		lower := strings.ToLower(accept)
		kind, _, _ := strings.Cut(string(got), "/")
		named := strings.Contains(lower, string(got)) || strings.Contains(lower, kind+"/*") || strings.Contains(lower, "*/*")
		if !named && strings.TrimSpace(accept) != "" {
			t.Errorf("%q was not asked for", got)
		}
	})
}

// What is let through is as the feed takes it, and the link to the next page asks for the same.
func FuzzQuery(f *testing.F) {
	for _, seed := range [][2]string{{"after=1-2&limit=7&topic=a.*&topic=b", ""}, {"after=oldest", "1-1"}, {"after=%00", "x"}, {"topic=%26%3b%3e%0a", ""},
		{"a;b", "1-01"}, {"limit=+5", "head"}, {"topic=a%22%3e;rel", "\n"}} {
		f.Add(seed[0], seed[1], true)
		f.Add(seed[0], seed[1], false)
	}
	h := offline(f)
	f.Fuzz(func(t *testing.T, raw, last string, live bool) {
		as := formatBatch
		if live {
			as = formatStream
		}
		r := &http.Request{URL: &url.URL{RawQuery: raw}, Header: http.Header{"Last-Event-Id": {last}}}
		q, err := h.parse(r, as)
		if err != nil {
			p, ok := err.(*problem)
			if !ok || p.Status != http.StatusBadRequest || !json.Valid(p.encode()) || bytes.ContainsAny(p.encode(), "\r\n") {
				t.Fatalf("%v", err)
			}
			return
		}
		if q.limit < 1 || q.limit > maxPage || q.at.Seq < 0 || q.at.Epoch < 0 {
			t.Fatalf("%+v", q)
		}
		for _, p := range q.topics {
			if topics.Check(p) != nil {
				t.Fatalf("topic %q", p)
			}
		}
		if live {
			return
		}
		link := q.link(outbox.Cursor{Epoch: 1, Seq: 2})
		if strings.ContainsAny(link, "\r\n\x00") || strings.Count(link, ">") != 1 {
			t.Fatalf("link %q", link)
		}
		reference, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		u, err := url.Parse(reference)
		if err != nil {
			t.Fatal(err)
		}
		next, err := h.parse(&http.Request{URL: u}, as)
		if err != nil || next.at != (outbox.Cursor{Epoch: 1, Seq: 2}) || next.limit != q.limit || strings.Join(next.topics, "\n") != strings.Join(q.topics, "\n") {
			t.Fatalf("%v: %+v follows %+v", err, next, q)
		}
	})
}

// An event is JSON on one line whatever is in it, and its payload comes out as it was.
func FuzzEvents(f *testing.F) {
	for _, seed := range [][2]string{{"application/json", `{"a": 1}`}, {"", "[1,\n2]"}, {"text/plain", "a\r\n\r\nb"}, {"text/plain", "\xff"}, {"a/b", "\x00"},
		{"application/x+json", "\"\xc3\x28\""}, {"text/plain; charset=latin1", "ä"}, {"x\r\ny", "{}"}, {"text/json", strings.Repeat("[", 70)}} {
		f.Add("id", "topic\n\xff", "key\u2028", seed[0], []byte(seed[1]))
	}
	h := offline(f)
	f.Fuzz(func(t *testing.T, id, topic, key, contentType string, payload []byte) {
		e := outbox.FeedEvent{Cursor: outbox.Cursor{Epoch: 1, Seq: 2}, PublishedAt: time.UnixMilli(1766000000000), Event: outbox.Event{
			ID: id, Topic: topic, Key: key, Payload: payload, Headers: map[string]string{"content-type": contentType, "trace": key}}}
		line := h.encode(&e)
		if bytes.ContainsAny(line, "\r\n") {
			t.Fatalf("it has lines: %q", line)
		}
		var got struct {
			ID, Type, DataContentType string
			Data                      json.RawMessage
			Base64                    []byte `json:"data_base64"`
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		if got.ID != strings.ToValidUTF8(id, "\ufffd") && !strings.ContainsRune(got.ID, '\ufffd') {
			t.Errorf("id %q is %q", id, got.ID)
		}
		switch {
		case got.Data != nil && got.Base64 != nil:
			t.Error("it has data twice")
		case got.Base64 != nil:
			if !bytes.Equal(got.Base64, payload) {
				t.Errorf("%q comes out as %q", payload, got.Base64)
			}
		case got.Data != nil:
			var text string
			if json.Unmarshal(got.Data, &text) == nil && text == string(payload) {
				return
			}
			var want bytes.Buffer
			if err := json.Compact(&want, payload); err != nil || !bytes.Equal(want.Bytes(), got.Data) {
				t.Errorf("%v: %q comes out as %s", err, payload, got.Data)
			}
		case len(payload) > 0:
			t.Errorf("%q is lost", payload)
		}
	})
}

// No header is too strange for an answer, and none gets past a handler that refuses.
func FuzzRequests(f *testing.F) {
	f.Add("GET", "after=1", "text/event-stream", "7")
	f.Add("HEAD", "topic=", "*/*", "")
	f.Add("\xff", ";", ",", "\x00")
	h := offline(f)
	h.opts.Authorize = func(*http.Request) error { return ErrUnauthenticated }
	f.Fuzz(func(t *testing.T, method, raw, accept, last string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, &http.Request{Method: method, URL: &url.URL{RawQuery: raw}, Header: http.Header{"Accept": {accept}, "Last-Event-Id": {last}}})
		if w.Code != http.StatusUnauthorized && (w.Code != http.StatusNoContent || method != http.MethodOptions) && w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%d", w.Code)
		}
	})
}
