package feedhttp_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/feedhttp"
)

// dial opens a connection whose client's side holds little that was not read.
func (s *site) dial(holds int) net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	_ = c.(*net.TCPConn).SetReadBuffer(holds)
	return c
}

// counting counts what the handler got rid of.
type counting struct {
	http.ResponseWriter
	written *atomic.Int64
}

func (c counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c counting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.written.Add(int64(n))
	return n, err
}

// The handler can't be told by a deadline that a client takes a little all the time, unless what it takes is soon made room for: it
// must never be far ahead of its client.
func TestASteadySlowClientIsNotFarBehindTheHandler(t *testing.T) {
	const most = 3 << 19 // what both ends hold, and some room
	for _, accept := range []string{"*/*", "text/event-stream"} {
		t.Run(accept, func(t *testing.T) {
			var written atomic.Int64
			s := onSQLite(t, setup{
				opts: feedhttp.Options{WriteTimeout: patience},
				server: func(srv *httptest.Server) {
					srv.Config.ConnContext = feedhttp.ConnContext
				},
				over: func(h http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(counting{w, &written}, r) })
				},
			})
			s.publish(outbox.Event{ID: "big", Topic: "t", Payload: make([]byte, 6<<20)})
			c := s.dial(256 << 10)
			fmt.Fprintf(c, "GET /events HTTP/1.1\r\nHost: x\r\nAccept: %s\r\n\r\n", accept)
			taken, piece := int64(0), make([]byte, 32<<10)
			for taken < 6<<20 {
				n, err := c.Read(piece)
				if err != nil {
					t.Fatalf("cut off after %d bytes: %v", taken, err)
				}
				taken += int64(n)
				time.Sleep(time.Millisecond) // slower than the handler
				if ahead := written.Load() - taken; ahead > most {
					t.Fatalf("the handler is %d bytes ahead of its client", ahead)
				}
			}
		})
	}
}
