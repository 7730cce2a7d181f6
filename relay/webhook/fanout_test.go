package webhook_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

// fanOutEvents is how many events each of fifty endpoints is owed. OUTBOX_TEST_FANOUT=2000 is the whole of it.
func fanOutEvents(t testing.TB) int {
	t.Helper()
	text := os.Getenv("OUTBOX_TEST_FANOUT")
	if text == "" {
		return 40
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n / 20 * 20
}

// site is one endpoint of many, which counts what arrives. It remembers numbers and not requests, since there are many.
type site struct {
	kind    string
	ordered bool
	healed  atomic.Bool

	mu    sync.Mutex  // guards what is below
	times map[int]int // how often each position has arrived
	last  int         // the highest
	wrong int         // positions that arrived for the first time after a higher one
	when  time.Time   // of the last request
}

// owed is how many of the events it wants: one that hangs few, since each takes the time-out.
func (e *site) owed(events int) int64 {
	if e.kind == "hanging" {
		return int64(events / 10)
	}
	return int64(events)
}

// well is whether it answers as it should, at once or slowly.
func (e *site) well() bool { return e.kind == "healthy" || e.kind == "slow" }

// count is how many events have arrived, and when the last one did.
func (e *site) count() (n int, last time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.times), e.when
}

func (e *site) arrived(position int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.times[position]++; e.times[position] == 1 && position < e.last {
		e.wrong++
	}
	e.last, e.when = max(e.last, position), time.Now()
}

func (e *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	position, err := strconv.Atoi(r.Header.Get(webhook.HeaderPosition))
	if err != nil {
		panic(err)
	}
	kind := e.kind
	if e.healed.Load() {
		kind = "healthy"
	}
	switch kind {
	case "slow":
		time.Sleep(time.Duration(rand.N(40)) * time.Millisecond) // it is what slow means
	case "failing":
		w.WriteHeader(http.StatusInternalServerError)
		return
	case "hanging":
		io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
		<-r.Context().Done()
		return
	case "resetting":
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
		return
	}
	e.arrived(position)
}

// Fifty endpoints, most of them healthy, are owed every event by two workers that are stopped at random.
func TestHealthyEndpointsGetAllWhateverTheOthersDo(t *testing.T) {
	events := fanOutEvents(t)
	opts := webhook.Options{
		Schedule: []time.Duration{20 * time.Millisecond}, Timeout: 400 * time.Millisecond, Lease: 2 * time.Second, Parallel: 8,
		Careful: 5 * time.Millisecond,
	}
	eachService(t, opts, func(s *service) {
		sites := s.sites()
		s.relay()
		end := s.restarting(2)
		start := time.Now()
		for range events / 20 {
			s.write("few", 2)
			s.write("most", 18)
		}
		s.untilAll(sites, func(name string, e *site, i webhook.Info) bool {
			return i.Done == e.owed(events) || !e.well() && i.Done+i.Dead == e.owed(events)
		})
		end()
		for n, e := range sites {
			name := fmt.Sprintf("%s %02d", e.kind, n)
			i := s.info(name)
			if !e.well() {
				if i.Dead != e.owed(events) {
					s.Errorf("%s: %+v, want all dead", name, i)
				}
				continue
			}
			if len(e.times) != events || e.ordered && e.wrong > 0 {
				s.Errorf("%s: %d of %d events, %d out of order", name, len(e.times), events, e.wrong)
			}
		}
		s.Logf("%d events at %d endpoints: the last healthy one had all after %v", events, len(sites), lastArrival(sites).Sub(start).Round(time.Millisecond))
		s.heal(sites, events)
	})
}

func lastArrival(sites []*site) (last time.Time) {
	for _, e := range sites {
		if e.well() && e.when.After(last) {
			last = e.when
		}
	}
	return last
}

// sites opens fifty.
func (s *service) sites() []*site {
	s.Helper()
	all := fiftySites()
	for n, e := range all {
		s.Cleanup(s.open(e, fmt.Sprintf("%s %02d", e.kind, n)))
	}
	return all
}

// fiftySites are forty healthy ones, five slow ones, and five that never answer well.
func fiftySites() (sites []*site) {
	for n := range 50 {
		e := &site{kind: "healthy", ordered: n%3 == 0}
		switch n % 10 {
		case 1:
			e.kind = "slow"
		case 3:
			e.kind = [...]string{"failing", "hanging", "resetting", "refusing", "failing"}[n/10]
			e.ordered = e.ordered && e.kind != "hanging" // else it takes events × time-out
		}
		sites = append(sites, e)
	}
	return sites
}

// nobody is where nobody listens. The port of a server that was closed is soon another test's.
const nobody = "http://127.0.0.1:1"

// open starts an endpoint and subscribes it.
func (s *service) open(e *site, name string) (end func()) {
	s.Helper()
	e.times = make(map[int]int)
	server := httptest.NewServer(e)
	url := server.URL
	if e.kind == "refusing" {
		url = nobody
	}
	topics := []string{"*"}
	if e.kind == "hanging" {
		topics = []string{"few"}
	}
	s.create(webhook.Subscription{Name: name, URL: url, Topics: topics, Ordered: e.ordered})
	return server.Close
}

// restarting runs n workers, each stopped and started again after a random while, until end is called.
func (s *service) restarting(n int) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for range n {
		w := s.webhooks()
		group.Go(func() {
			for ctx.Err() == nil {
				life, stop := context.WithTimeout(ctx, 200*time.Millisecond+rand.N(time.Second))
				if err := w.Run(life); err != nil && ctx.Err() == nil {
					s.Error(err)
				}
				stop()
			}
		})
	}
	end = func() { cancel(); group.Wait() }
	s.Cleanup(end)
	return end
}

func (s *service) untilAll(sites []*site, condition func(string, *site, webhook.Info) bool) {
	s.Helper()
	open := ""
	for end := time.Now().Add(10 * patience); ; time.Sleep(200 * time.Millisecond) {
		all, err := s.w.Subscriptions(s.Context())
		s.must(err)
		open = ""
		for n, e := range sites {
			name := fmt.Sprintf("%s %02d", e.kind, n)
			for _, i := range all {
				if i.Name == name && !condition(name, e, i) {
					open = fmt.Sprintf("%s: %+v", name, i)
				}
			}
		}
		if open == "" {
			return
		}
		if time.Now().After(end) {
			s.Fatal("in vain: ", open)
		}
	}
}

// heal has what failed sent again, now that the endpoints work.
func (s *service) heal(sites []*site, events int) {
	s.Helper()
	for n, e := range sites {
		if e.kind != "failing" && e.kind != "resetting" {
			continue
		}
		e.healed.Store(true)
		name := fmt.Sprintf("%s %02d", e.kind, n)
		if got, err := s.w.Redeliver(s.Context(), name, webhook.RedeliverQuery{Rate: 500}); got != events || err != nil {
			s.Errorf("%s: %d sent again, want %d: %v", name, got, events, err)
		}
	}
	s.exec(`UPDATE {webhook_deliveries} SET due_ms = 0 WHERE state = 0`)
	defer s.work()()
	s.untilAll(sites, func(_ string, e *site, i webhook.Info) bool { return !e.healed.Load() || i.Done == int64(events) })
	for _, e := range sites {
		if e.healed.Load() && (len(e.times) != events || e.ordered && e.wrong > 0) {
			s.Errorf("%s: %d of %d events, %d out of order", e.kind, len(e.times), events, e.wrong)
		}
	}
}
