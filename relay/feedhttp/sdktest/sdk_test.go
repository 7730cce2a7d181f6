package sdktest

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/feedhttp"
)

const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

var events = []outbox.Event{
	{ID: "json", Topic: "orders.placed", Key: "order-1", Payload: []byte(`{"total":4200}`),
		Headers: map[string]string{"content-type": "application/json", "traceparent": trace}},
	{ID: "json of its own", Topic: "t", Payload: []byte(`[1,"ü"]`), Headers: map[string]string{"content-type": "application/vnd.shop.v1+json"}},
	{ID: "json without a type", Topic: "t", Payload: []byte(`{"a":[]}`)},
	{ID: "text", Topic: "t", Payload: []byte("a\r\n\"b\" ü\x00"), Headers: map[string]string{"content-type": "text/plain; charset=utf-8"}},
	{ID: "text/json", Topic: "t", Payload: []byte(`{"a":1}`), Headers: map[string]string{"content-type": "text/json"}},
	{ID: "binary", Topic: "t", Payload: []byte("\x00\xff\xfe"), Headers: map[string]string{"content-type": "image/png"}},
	{ID: "binary without a type", Topic: "t", Payload: []byte("\x00\xff\xfe")},
	{ID: "not the json it says", Topic: "t", Payload: []byte("{\xff"), Headers: map[string]string{"content-type": "application/json"}},
	{ID: "nothing", Topic: "t"},
	{ID: "<strange> \u2028\"ids\" & ünd", Topic: "t.<>&", Key: "k/ü \"", Payload: []byte("x")},
}

func serve(t *testing.T) *httptest.Server {
	t.Helper()
	db, d := engines.Get(t, "sqlite").Migrated(t)
	box, err := outbox.New(db, d, &outbox.Options{Feed: true})
	if err != nil {
		t.Fatal(err)
	}
	err = box.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := box.Write(ctx, tx, events...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := relay.New(box, relay.PublisherFunc(func(context.Context, relay.Message) error { return nil }),
		&relay.Options{Order: relay.OrderTotal, Retention: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := feedhttp.New(box.Feed(), &feedhttp.Options{Authorize: feedhttp.AllowAll, Source: "https://shop.example/orders",
		Extensions: map[string]string{"traceparent": "traceparent"}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	t.Cleanup(h.EndStreams)
	return s
}

func get(t *testing.T, s *httptest.Server, accept string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// want compares what the SDK has read with what was written.
func want(t *testing.T, got []event.Event) {
	t.Helper()
	if len(got) != len(events) {
		t.Fatalf("%d events, want %d", len(got), len(events))
	}
	for i, e := range got {
		w := events[i]
		if err := e.Validate(); err != nil {
			t.Errorf("%q: %v", w.ID, err)
		}
		if e.ID() != w.ID || e.Type() != w.Topic || e.Subject() != w.Key || e.Source() != "https://shop.example/orders" || e.SpecVersion() != "1.0" || e.Time().IsZero() {
			t.Errorf("%q is read as\n%v", w.ID, e)
		}
		if !bytes.Equal(e.Data(), w.Payload) {
			t.Errorf("%q: data %q, want %q", w.ID, e.Data(), w.Payload)
		}
		contentType := w.Headers["content-type"]
		if w.ID == "json without a type" {
			contentType = "application/json"
		}
		if e.DataContentType() != contentType {
			t.Errorf("%q: datacontenttype %q, want %q", w.ID, e.DataContentType(), contentType)
		}
		ext := e.Extensions()
		cursor, _ := ext["cursor"].(string)
		at, err := outbox.ParseCursor(cursor)
		if err != nil || at.Seq != int64(i+1) || len(ext["sequence"].(string)) != 19 {
			t.Errorf("%q: %v, extensions %v", w.ID, err, ext)
		}
		if v, ok := ext["traceparent"]; ok != (i == 0) || ok && v != trace {
			t.Errorf("%q: traceparent %v", w.ID, v)
		}
	}
}

func TestTheSDKReadsABatch(t *testing.T) {
	res := get(t, serve(t), "application/cloudevents-batch+json")
	if !cehttp.IsHTTPBatch(res.Header) {
		t.Errorf("it is no batch to the SDK: %v", res.Header)
	}
	got, err := cehttp.NewEventsFromHTTPResponse(res)
	if err != nil {
		t.Fatal(err)
	}
	want(t, got)
}

func TestTheSDKReadsTheEnvelope(t *testing.T) {
	var envelope struct{ Events []event.Event }
	if err := json.NewDecoder(get(t, serve(t), "application/json").Body).Decode(&envelope); err != nil {
		t.Fatal(err)
	}
	want(t, envelope.Events)
}

func TestTheSDKReadsAStream(t *testing.T) {
	lines := bufio.NewScanner(get(t, serve(t), "text/event-stream").Body)
	var got []event.Event
	for len(got) < len(events) && lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var e event.Event
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatalf("%v: %s", err, data)
			}
			got = append(got, e)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	want(t, got)
}
