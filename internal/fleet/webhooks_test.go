package fleet

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/sqloutbox/sqloutbox/internal/racing"
	"github.com/sqloutbox/sqloutbox/outbox"
	"github.com/sqloutbox/sqloutbox/relay"
	"github.com/sqloutbox/sqloutbox/relay/webhook"
)

func webhooksOf(o *outbox.Outbox) (*webhook.Webhooks, error) {
	return webhook.New(o, &webhook.Options{
		AllowHTTP: true, AllowPrivate: true, Timeout: racing.Slow * 500 * time.Millisecond, Lease: racing.Slow * 1200 * time.Millisecond,
		Poll: 50 * time.Millisecond, Parallel: 4, Schedule: []time.Duration{20 * time.Millisecond}, Careful: 5 * time.Millisecond,
	})
}

// startWebhooks runs workers beside the relay, and tells them what it publishes. end waits for them.
func (c *processConfig) startWebhooks(ctx context.Context, o *outbox.Outbox) (end func() error, err error) {
	w, err := webhooksOf(o)
	if err != nil {
		return nil, err
	}
	c.Options.Observers = append(c.Options.Observers, w)
	over := make(chan error, 1)
	go func() { over <- w.Run(ctx) }()
	return func() error { return <-over }, nil
}

// hookEndpoint counts what arrives.
type hookEndpoint struct {
	broken bool

	mu    sync.Mutex  // guards what is below
	times map[int]int // how often, by position
	last  int
	wrong int // positions that came for the first time after a higher one
}

func (e *hookEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	position, err := strconv.Atoi(r.Header.Get(webhook.HeaderPosition))
	if err != nil || e.broken {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.times[position]++; e.times[position] == 1 && position < e.last {
		e.wrong++
	}
	e.last = max(e.last, position)
}

// doubles is how often something came again.
func (e *hookEndpoint) doubles() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, times := range e.times {
		n += times - 1
	}
	return n
}

func TestWebhooksReachEachEndpointWhenTheirProcessesAreKilled(t *testing.T) {
	const events, step, processes = 100, 10, 2
	eachEngine(t, func(t *testing.T, d *database) {
		o, err := outbox.New(d.DB(), d.Dialect(), &outbox.Options{Feed: true})
		if err != nil {
			t.Fatal(err)
		}
		w, err := webhooksOf(o)
		if err != nil {
			t.Fatal(err)
		}
		endpoints := map[string]*hookEndpoint{"ordered": {}, "parallel": {}, "broken": {}}
		for name, e := range endpoints {
			e.times = make(map[int]int)
			e.broken = name == "broken"
			server := httptest.NewServer(e)
			t.Cleanup(server.Close)
			if _, err := w.Create(t.Context(), webhook.Subscription{Name: name, URL: server.URL, Topics: []string{"*"}, Ordered: name != "parallel"}); err != nil {
				t.Fatal(err)
			}
		}
		rc := newReceiver(t, nil)
		f := newFleet(t, d.url, rc, relay.Options{
			Order: relay.OrderPerKey, Lease: racing.Slow * time.Second, Poll: 50 * time.Millisecond, PollMax: 100 * time.Millisecond,
			Batch: 20, Retention: time.Hour,
		})
		f.feed, f.webhooks = true, true
		f.startAll(processes)
		stop := f.killSometimes(racing.Slow * time.Second)
		for range events / step {
			d.fill(t, step)
			time.Sleep(racing.Slow * 500 * time.Millisecond) // the host's pace
		}
		kills := stop()
		settled := func(name string) bool {
			i, err := w.Subscription(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			return i.Done+i.Dead == events
		}
		for name := range endpoints {
			eventually(t, time.Minute, "all is settled for "+name, func() bool { return settled(name) })
		}
		f.stopAll()
		text := ""
		for name, e := range endpoints {
			i, err := w.Subscription(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if name == "broken" && i.Dead != events || name != "broken" && (i.Done != events || len(e.times) != events) || name == "ordered" && e.wrong > 0 {
				t.Errorf("%s: %d of %d events, %d out of order: %+v", name, len(e.times), events, e.wrong, i)
			}
			text += fmt.Sprintf(", %s had %d again", name, e.doubles())
		}
		t.Logf("%d kills%s", kills, text)
		if kills == 0 {
			t.Error("no process was killed")
		}
	})
}
