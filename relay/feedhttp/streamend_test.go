package feedhttp_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/hookdb"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/feedhttp"
)

func TestStreamsEndWithTheServer(t *testing.T) {
	var s *site
	var cancelBase func()
	for name, end := range map[string]func() error{
		"Shutdown": func() error {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			return s.Config.Shutdown(ctx)
		},
		"the base context": func() error {
			cancelBase()
			return nil
		},
		"EndStreams, twice": func() error {
			s.h.EndStreams()
			s.h.EndStreams()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			base, cancel := context.WithCancel(context.Background())
			defer cancel()
			cancelBase = cancel
			s = onSQLite(t, setup{
				box: outbox.Options{FeedPoll: time.Hour}, // it is not the poll that finds out
				server: func(srv *httptest.Server) {
					srv.Config.BaseContext = func(net.Listener) context.Context { return base }
				},
			})
			s.Config.RegisterOnShutdown(s.h.EndStreams)
			s.publish(numbered(1, 1)...)
			f := s.follow("")
			f.want("1")
			if err := end(); err != nil {
				t.Error(err)
			}
			if f.wantEnd(); f.err != nil {
				t.Errorf("the stream did not end as it should: %v", f.err)
			}
			if name != "Shutdown" { // after which nobody answers
				code := map[bool]string{true: "ending", false: "away"}[strings.HasPrefix(name, "EndStreams")]
				if p := s.follow("").wantEnd(); p.Code != code || p.Status != http.StatusServiceUnavailable {
					t.Errorf("another stream ends with %+v, want %s", p, code)
				}
			}
		})
	}
}

// It comes back, and is authorised again.
func TestAStreamEndsWhenItIsOld(t *testing.T) {
	var refuse atomic.Bool
	s := onSQLite(t, setup{opts: feedhttp.Options{MaxAge: 20 * time.Millisecond, Authorize: func(*http.Request) error {
		if refuse.Load() {
			return context.Canceled
		}
		return nil
	}}})
	s.publish(numbered(1, 1)...)
	f := s.follow("")
	f.want("1")
	refuse.Store(true)
	if f.wantEnd(); f.err != nil {
		t.Error(f.err)
	}
	if _, status := s.tryFollow("", "Last-Event-ID", f.last); status != http.StatusForbidden {
		t.Errorf("it comes back: %d", status)
	}
}

// A stream that is behind while the database is away, and finds that the feed has gone on without it.
func TestAStreamThatCanNotGoOnSaysWhy(t *testing.T) {
	var away atomic.Bool
	var refused atomic.Int64
	s := onSQLite(t, setup{
		opts: feedhttp.Options{Heartbeat: 5 * time.Millisecond},
		hooks: hookdb.Hooks{Before: func(string) error {
			if away.Load() {
				refused.Add(1)
				return hookdb.ErrCut
			}
			return nil
		}},
	})
	goAway := func() { // and have no look under way
		before := refused.Load()
		away.Store(true)
		s.eventually("a look is refused", func() bool { return refused.Load() > before })
	}
	s.publish(numbered(1, 2)...)
	f := s.follow("")
	f.want("1", "2")
	goAway()
	beats := f.beats
	f.until("it waits, and its client is kept", func() bool { return f.beats >= beats+20 })
	s.publish(numbered(3, 4)...)
	away.Store(false)
	f.want("3", "4")

	goAway()
	s.publish(numbered(5, 6)...)
	s.purgeAll()
	away.Store(false)
	if p := f.wantEnd(); p.Code != "gone" || p.Status != http.StatusGone || p.Oldest != s.head().String() || f.err != nil {
		t.Errorf("%+v, %v", p, f.err)
	}
	s.do("GET", "", "Accept", "text/event-stream", "Last-Event-ID", f.last).problem(t, http.StatusGone, "gone")

	f = s.follow("?after=head")
	f.block()
	f.block()
	now, err := s.box.Feed().NewEpoch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p := f.wantEnd(); p.Code != "epoch" || p.Head != now.String() {
		t.Errorf("%+v", p)
	}
	s.do("GET", "", "Accept", "text/event-stream", "Last-Event-ID", f.last).problem(t, http.StatusConflict, "epoch")
}

// A client that takes nothing is cut off, though its connection is there.
func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	for _, accept := range []string{"*/*", "text/event-stream"} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s http2=%v", accept, http2), func(t *testing.T) {
				returned := make(chan struct{}, 1)
				s := onSQLite(t, setup{
					opts: feedhttp.Options{WriteTimeout: 50 * time.Millisecond},
					server: func(srv *httptest.Server) {
						srv.EnableHTTP2 = http2
						smallBuffers(srv)
					},
					over: func(h http.Handler) http.Handler {
						return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
							h.ServeHTTP(w, r)
							returned <- struct{}{}
						})
					},
				})
				s.publish(outbox.Event{ID: "big", Topic: "t", Payload: make([]byte, 6<<20)}) // more than HTTP/2's window, and the buffers below it
				s.smallBuffers()
				req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/events", nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Accept", accept)
				if res, err := s.Client().Do(req); err == nil { // or it is cut off before it has begun
					defer res.Body.Close()
				}
				select {
				case <-returned:
				case <-time.After(patience):
					t.Fatal("it holds its place")
				}
			})
		}
	}
}

// A page is megabytes, and its client slow: that one is not waited for to the end of it.
func TestAStreamEndsInTheMiddleOfAPage(t *testing.T) {
	const events = 60
	s := onSQLite(t, setup{opts: feedhttp.Options{WriteTimeout: time.Hour}, server: smallBuffers})
	s.smallBuffers()
	var all []outbox.Event
	for i := range events {
		all = append(all, outbox.Event{ID: fmt.Sprint(i), Topic: "t", Payload: make([]byte, 100<<10)})
	}
	s.publish(all...)
	res := s.open(t.Context(), "GET", "", "Accept", "text/event-stream")
	defer res.Body.Close()
	if _, err := res.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	s.h.EndStreams()
	rest, err := io.ReadAll(res.Body)
	if n := bytes.Count(rest, []byte("\ndata: ")); n == events || err != nil {
		t.Errorf("%d of %d events were sent after the end, %v", n, events, err)
	}
}

// Those who read are not kept waiting by one that does not.
func TestAClientThatDoesNotReadIsInNobodysWay(t *testing.T) {
	s := onSQLite(t, setup{opts: feedhttp.Options{WriteTimeout: time.Hour, MaxReads: 1}, server: smallBuffers})
	s.smallBuffers()
	s.publish(outbox.Event{ID: "big", Topic: "t", Payload: make([]byte, 2<<20)}, outbox.Event{ID: "next", Topic: "t"})
	res := s.open(t.Context(), "GET", "", "Accept", "text/event-stream")
	defer res.Body.Close()
	s.follow("").want("big", "next")
	if got := s.do("GET", "").batch(t); len(got) != 2 {
		t.Errorf("%d events", len(got))
	}
	if _, err := s.box.Feed().Head(t.Context()); err != nil {
		t.Error(err)
	}
}

// smallBuffers has the server's connections hold little of what a client has not read.
func smallBuffers(srv *httptest.Server) {
	srv.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if t, ok := c.(*tls.Conn); ok {
			c = t.NetConn()
		}
		if state == http.StateNew {
			_ = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
		}
	}
}

// smallBuffers does the same for the client's.
func (s *site) smallBuffers() {
	s.Client().Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
		if err == nil {
			_ = c.(*net.TCPConn).SetReadBuffer(16 << 10)
		}
		return c, err
	}
}
