package feedhttp_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/feedhttp"
)

// Pages that nobody takes are bounded by what they hold, not by their number.
func TestPagesHoldAsMuchAsTheyMayTogether(t *testing.T) {
	s := onSQLite(t, setup{opts: feedhttp.Options{MaxHeld: 12 << 20, WriteTimeout: time.Hour}})
	s.publish(outbox.Event{ID: "small", Topic: "small"}, outbox.Event{ID: "big", Topic: "big", Payload: make([]byte, 8<<20)})
	slow := s.dial(16 << 10) // the page is more than the system holds for it
	fmt.Fprint(slow, "GET /events?topic=big HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := slow.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	a := s.do("GET", "?topic=big")
	a.problem(t, http.StatusServiceUnavailable, "pages")
	if a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if got := s.do("GET", "?topic=small").batch(t); len(got) != 1 { // fits in beside it
		t.Errorf("%d small events", len(got))
	}
	s.follow("").want("small", "big") // streams have a bound of their own
	_ = slow.Close()
	s.eventually("what was held is given back", func() bool { return s.do("GET", "?topic=big").StatusCode == http.StatusOK })
}

// Or it could never be read.
func TestAPageOfAnySizeIsSentAlone(t *testing.T) {
	s := onSQLite(t, setup{opts: feedhttp.Options{MaxHeld: 1000}})
	s.publish(outbox.Event{ID: "big", Topic: "t", Payload: make([]byte, 1<<20)})
	for range 3 {
		if got := s.do("GET", "").batch(t); len(got) != 1 {
			t.Errorf("%d events", len(got))
		}
	}
}
