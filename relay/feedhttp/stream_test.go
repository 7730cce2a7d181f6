package feedhttp_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay/feedhttp"
)

// A client that hangs up anywhere and comes back with the id that it has noted.
func TestAStreamThatIsResumedNeitherLosesNorDoubles(t *testing.T) {
	engines.Each(t, func(t *testing.T, e *engines.Engine) {
		s := newSite(t, e, setup{})
		const n = 150
		s.publish(numbered(1, 1)...)
		published := make(chan struct{})
		go func() {
			defer close(published)
			for i := 2; i <= n; i += 7 {
				s.publish(numbered(i, min(i+6, n))...)
			}
		}()
		f := s.follow("")
		for i, left := 1, rand.IntN(20); i <= n; i++ {
			if left--; left < 0 && f.last != "" {
				f.hangUp()
				left = rand.IntN(20)
				f = s.follow("?after=oldest", "Last-Event-ID", f.last) // which goes before after
			}
			f.want(fmt.Sprint(i))
		}
		<-published
		if f.last != s.head().String() {
			t.Errorf("it ends at %s, and the head is %v", f.last, s.head())
		}
	})
}

func TestAStreamBeginsWhereItIsAsked(t *testing.T) {
	s := onSQLite(t, setup{})
	s.publish(numbered(1, 5)...)
	s.purgeAll()
	s.publish(numbered(6, 8)...)
	live := s.follow("?after=head")
	b, _ := live.block()
	if b.retry == "" {
		t.Errorf("the stream begins with %+v, want retry", b)
	}
	if b, _ := live.block(); b.id != s.head().String() || b.data != "" { // or it would begin elsewhere when it comes back
		t.Errorf("then comes %+v, want the position", b)
	}
	s.follow("?after=oldest").want("6", "7", "8")
	s.follow(fmt.Sprintf("?after=%d-7", s.head().Epoch)).want("8")
	s.publish(numbered(9, 9)...)
	live.want("9")
}

// What the topics leave out is not looked through again by a client that comes back.
func TestAFilteredStreamTellsHowFarItHasCome(t *testing.T) {
	s := onSQLite(t, setup{opts: feedhttp.Options{Heartbeat: time.Hour}})
	s.publish(numbered(1, 2100)...)
	f := s.follow("?topic=none")
	for want, i := []int64{0, 1000, 2000}, 0; i < len(want); {
		b, ok := f.block()
		if !ok {
			t.Fatal(f.err)
		}
		if b.id != "" {
			if at, err := outbox.ParseCursor(b.id); err != nil || at.Seq != want[i] || b.data != "" {
				t.Fatalf("%v, %+v; want the position %d", err, b, want[i])
			}
			i++
		}
	}
	f.hangUp()

	s = onSQLite(t, setup{opts: feedhttp.Options{Heartbeat: 5 * time.Millisecond}})
	s.publish(numbered(1, 10)...)
	f = s.follow("?topic=t1.*")
	f.want("1", "4", "7", "10")
	s.publish(numbered(11, 12)...)
	f.until("a heartbeat tells", func() bool { return f.last == s.head().String() })
	f.hangUp()
	s.publish(numbered(13, 13)...)
	s.follow("?topic=t1.*", "Last-Event-ID", f.last).want("13")
}

// Its poll would take an hour.
func TestAStreamIsToldOfWhatThisProcessPublishes(t *testing.T) {
	s := onSQLite(t, setup{box: outbox.Options{FeedPoll: time.Hour}})
	box, err := outbox.New(s.db, s.d, &outbox.Options{Feed: true, FeedPoll: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	h, err := feedhttp.New(box.Feed(), &feedhttp.Options{Authorize: feedhttp.AllowAll, Source: "urn:x"})
	if err != nil {
		t.Fatal(err)
	}
	s.Server.Config.Handler = h
	s.publishOn(box, numbered(1, 1)...)
	f := s.follow("")
	f.want("1")
	for i := 2; i < 5; i++ {
		s.publishOn(box, numbered(i, i)...)
		f.want(fmt.Sprint(i))
	}
	h.EndStreams()
	f.wantEnd()
}

func TestHeartbeatsOutliveTheServersTimeouts(t *testing.T) {
	const short = 60 * time.Millisecond
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%v", http2), func(t *testing.T) {
			s := onSQLite(t, setup{
				opts: feedhttp.Options{Heartbeat: short, WriteTimeout: short / 3},
				server: func(srv *httptest.Server) {
					srv.EnableHTTP2 = http2
					srv.Config.WriteTimeout, srv.Config.ReadTimeout, srv.Config.IdleTimeout = short, short, short
				},
			})
			s.publish(numbered(1, 1)...)
			f := s.follow("")
			f.until("20 heartbeats", func() bool { return f.beats >= 20 })
			s.publish(numbered(2, 2)...)
			f.want("2")
		})
	}
}

func TestThereAreAsManyStreamsAsThereMayBe(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%v", http2), func(t *testing.T) {
			s := onSQLite(t, setup{
				opts:   feedhttp.Options{MaxStreams: 2},
				server: func(srv *httptest.Server) { srv.EnableHTTP2 = http2 },
			})
			s.publish(numbered(1, 1)...)
			first, second := s.follow(""), s.follow("")
			first.want("1")
			second.want("1")
			third := s.follow("") // which a browser comes back from, as it would not from another status
			if b, _ := third.block(); b.retry == "" {
				t.Errorf("it does not say when to come back: %+v", b)
			}
			if p := third.wantEnd(); p.Code != "streams" || p.Status != http.StatusServiceUnavailable || third.err != nil {
				t.Errorf("it ends with %+v, %v", p, third.err)
			}
			if got := s.do("GET", "").batch(t); len(got) != 1 { // pages are not counted
				t.Errorf("%d events", len(got))
			}
			first.hangUp()
			s.eventually("a client that hung up gives its place back", func() bool {
				f := s.follow("")
				f.block()          // when to come back
				b, ok := f.block() // where it begins, or why it does not
				return ok && b.event == ""
			})
			s.publish(numbered(2, 2)...)
			second.want("2")
		})
	}
}
