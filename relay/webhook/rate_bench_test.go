package webhook_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/engines"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// BenchmarkHealthyBesideBad is how two healthy endpoints, an ordered one and one that is not, fare beside twenty bad ones that
// are owed the same events, against how they fare alone. Each round serves both, one after the other, in a database of its own;
// what is reported are medians of rounds, so take -benchtime 7x or so. The bad ones are new to the workers each time.
//
// backlog-N: so many events are owed when the workers start; the bad ones cost most at the beginning, until each is known to be
// bad. N-per-second: events are written at that rate, for three seconds.
func BenchmarkHealthyBesideBad(b *testing.B) {
	for _, name := range engines.Names() {
		b.Run(name, func(b *testing.B) {
			e := engines.Get(b, name)
			for _, owed := range []int{2000, 20_000} {
				b.Run(fmt.Sprintf("backlog-%d", owed), func(b *testing.B) {
					compare(b, func(bad int) *fared { return backlog(b, e, bad, owed) })
				})
			}
			for _, rate := range []int{100, 300} {
				b.Run(fmt.Sprintf("%d-per-second", rate), func(b *testing.B) {
					compare(b, func(bad int) *fared { return offered(b, e, bad, rate) })
				})
			}
		})
	}
}

const (
	manyBad   = 20
	steadyFor = 3 * time.Second
)

// fared is how the healthy endpoints of one phase did: ordered first.
type fared struct {
	rate, median, p95 [2]float64 // events a second; ms from the answer to the writer's COMMIT
}

func compare(b *testing.B, phase func(bad int) *fared) {
	values := make(map[string][]float64)
	for round := range b.N {
		var alone, beside *fared
		if round%2 == 0 {
			alone, beside = phase(0), phase(manyBad)
		} else {
			beside, alone = phase(manyBad), phase(0)
		}
		for i, which := range []string{"ordered", "parallel"} {
			add := func(what string, value float64) { values[which+"-"+what] = append(values[which+"-"+what], value) }
			add("rate-ratio", beside.rate[i]/alone.rate[i])
			add("alone/s", alone.rate[i])
			if alone.median[i] > 0 {
				add("alone-ms", alone.median[i])
				add("beside-ms", beside.median[i])
				add("alone-p95-ms", alone.p95[i])
				add("beside-p95-ms", beside.p95[i])
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for name, all := range values {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], name)
	}
}

// backlog times how a backlog is worked off.
func backlog(b *testing.B, e *engines.Engine, bad, owed int) *fared {
	s := newRateService(b, e)
	healthy, end := s.endpoints(bad)
	defer end()
	stop := s.relay()
	for range owed / 100 {
		s.write("t", 100)
	}
	s.until("all is owed", func() bool { return s.number(`SELECT COUNT(*) FROM {feed}`) == int64(owed) })
	stop()
	start := time.Now()
	defer s.work()()
	f := &fared{}
	for i, m := range healthy {
		f.rate[i] = float64(owed) / m.all(s, owed).Sub(start).Seconds()
	}
	return f
}

// offered writes events at a rate, and times each one.
func offered(b *testing.B, e *engines.Engine, bad, rate int) *fared {
	s := newRateService(b, e)
	healthy, end := s.endpoints(bad)
	defer end()
	defer s.relay()()
	defer s.work()()
	s.write("t", 1) // once all runs
	for _, m := range healthy {
		m.all(s, 1)
	}
	n := int(steadyFor.Seconds() * float64(rate))
	written := make([]time.Time, n)
	every := time.NewTicker(time.Second / time.Duration(rate))
	defer every.Stop()
	start := time.Now()
	for i := range n {
		if due := start.Add(time.Duration(i) * time.Second / time.Duration(rate)); time.Now().Before(due) {
			<-every.C
		}
		s.write("t", 1)
		written[i] = time.Now()
	}
	f := &fared{}
	for i, m := range healthy {
		f.rate[i] = float64(n) / m.all(s, n+1).Sub(start).Seconds()
		f.median[i], f.p95[i] = m.latencies(written)
	}
	return f
}

func newRateService(b *testing.B, e *engines.Engine) *service {
	s := newService(b, e, webhook.Options{Timeout: time.Second, Poll: 500 * time.Millisecond})
	s.opts.Logger = slog.New(slog.DiscardHandler) // what dies is meant to
	s.w = s.webhooks()
	return s
}

// endpoints starts two healthy endpoints and some bad ones, and subscribes them.
func (s *service) endpoints(bad int) (healthy [2]*meter, end func()) {
	s.Helper()
	var servers []*httptest.Server
	open := func(name string, h http.Handler, ordered bool) {
		server := httptest.NewUnstartedServer(h)
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
		server.Start()
		servers = append(servers, server)
		s.create(webhook.Subscription{Name: name, URL: server.URL, Topics: []string{"*"}, Ordered: ordered})
	}
	for i := range healthy {
		healthy[i] = &meter{at: make(map[int]time.Time)}
		open(fmt.Sprint("healthy ", i), healthy[i], i == 0)
	}
	for n := range bad {
		kind := [...]string{"slow", "failing", "hanging", "resetting", "refusing"}[n%5]
		name, ordered := fmt.Sprint(kind, " ", n), n%3 == 0
		if kind == "refusing" {
			s.create(webhook.Subscription{Name: name, URL: nobody, Topics: []string{"*"}, Ordered: ordered})
			continue
		}
		open(name, badly(kind), ordered)
	}
	return healthy, func() {
		for _, server := range servers {
			server.CloseClientConnections()
			server.Close()
		}
		_ = s.db.Close() // of many rounds
	}
}

func badly(kind string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch kind {
		case "slow":
			time.Sleep(200 * time.Millisecond) // it is what slow means
		case "failing":
			w.WriteHeader(http.StatusInternalServerError)
		case "hanging":
			io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
			<-r.Context().Done()
		case "resetting":
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				c.(*net.TCPConn).SetLinger(0)
				c.Close()
			}
		}
	})
}

// meter is a healthy endpoint that notes when each position arrived first.
type meter struct {
	mu   sync.Mutex // guards what is below
	at   map[int]time.Time
	last time.Time // of the first arrivals
}

func (m *meter) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	position, err := strconv.Atoi(r.Header.Get(webhook.HeaderPosition))
	if err != nil {
		panic(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, again := m.at[position]; !again {
		m.last = time.Now()
		m.at[position] = m.last
	}
}

// all waits until n have arrived, and answers when the last one has.
func (m *meter) all(s *service, n int) (last time.Time) {
	s.Helper()
	s.until(fmt.Sprint(n, " have arrived"), func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		last = m.last
		return len(m.at) >= n
	})
	return last
}

// latencies are those of positions from 2, in ms: median and 95 %.
func (m *meter) latencies(written []time.Time) (median, p95 float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []time.Duration
	for i, at := range written {
		all = append(all, m.at[i+2].Sub(at))
	}
	slices.Sort(all)
	ms := func(part float64) float64 { return float64(all[int(part*float64(len(all)))].Microseconds()) / 1000 }
	return ms(0.5), ms(0.95)
}
